export type Kind = 'stalled' | 'drips' | 'chunks' | 'idle'

export interface Attacked {
  /**
   * Latency in milliseconds: 99th percentile of the valid client's metadata calls (`p99`), and maximum of /health/live (`live`).
   */
  p99: number
  live: number
  /** Rejected calls of the valid client. */
  rejected: string[]
  /** Maximum resident memory of the main process. */
  memoryMb: number
  /** CPU milliseconds of the longest event loop block. */
  worstHold: number
  worstTurn: number
  /** Response statuses and closed connections, counted per kind of attacker. */
  statuses: Partial<Record<Kind, Record<string, number>>>
}

export function attack(options: {
  counts: Partial<Record<Kind, number>>
  seed: number
  calls: number
  /** Number of attackers per kind that must have received a response or been disconnected before `attack` returns. */
  notes?: Partial<Record<Kind, number>>
  /** Port for the service. It must be free. */
  port?: number
}): Promise<Attacked>
