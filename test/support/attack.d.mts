export type Kind = 'stalled' | 'drips' | 'chunks' | 'idle'

export interface Attacked {
  /** Milliseconds: of the good client's metadata calls, and of the slowest /health/live. */
  p99: number
  live: number
  /** What the good client was refused. */
  refused: string[]
  /** The most that the service's main process had resident. */
  memoryMb: number
  /** Milliseconds of CPU for which the event loop was held. */
  worstHold: number
  worstTurn: number
  /** What became of the attackers: the status that they were answered with, and how many were closed. */
  statuses: Partial<Record<Kind, Record<string, number>>>
}

export function attack(options: {
  counts: Partial<Record<Kind, number>>
  seed: number
  calls: number
  /** How many of each kind must be answered or cut off before it is told what became of them. */
  notes?: Partial<Record<Kind, number>>
  /** Where the service listens: one that stays free until it does, where much else runs on the machine. */
  port?: number
}): Promise<Attacked>
