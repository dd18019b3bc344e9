export type Kind = 'stalled' | 'drips' | 'chunks' | 'idle'

export interface Attacked {
  /** Milliseconds of metadata calls by the valid client, and of the slowest /health/live. */
  p99: number
  live: number
  /** Rejections of the valid client. */
  rejected: string[]
  /** Maximum resident memory of the main process. */
  memoryMb: number
  /** CPU milliseconds of the longest event loop block. */
  worstHold: number
  worstTurn: number
  /** Results of the attackers: response statuses and closed connections. */
  statuses: Partial<Record<Kind, Record<string, number>>>
}

export function attack(options: {
  counts: Partial<Record<Kind, number>>
  seed: number
  calls: number
  /** Number of each kind that must be answered or closed before results are returned. */
  notes?: Partial<Record<Kind, number>>
  /** Port of the service, which stays free until used. */
  port?: number
}): Promise<Attacked>
