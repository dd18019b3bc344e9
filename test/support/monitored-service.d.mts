/** Event loop blocks, in milliseconds of CPU time on the main thread. */
export interface Watched {
  turns: number
  holds: number
  worstTurn: number
  worstHold: number
  /** The longest blocks with their garbage collection time and, if sampled, functions. */
  slow: { ms: number; from: number; to: number; callback: string; collectedMs: number; functions: string[]; calls: string[] }[]
}

export interface WatchedService {
  url: string
  pid: number
  output(): string
  /** Blocks the event loop. */
  burn(ms: number): Promise<unknown>
  watch(work: () => Promise<unknown>, options?: { profile?: boolean; split?: boolean }): Promise<Watched>
  stop(): Promise<void>
}

export function startMonitoredService(env: Record<string, string>): Promise<WatchedService>
