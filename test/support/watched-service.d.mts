/** What held the event loop, in milliseconds of the main thread's time on a CPU. */
export interface Watched {
  turns: number
  holds: number
  worstTurn: number
  worstHold: number
  /** The dearest holds, with the collections of garbage in them and, where they were sampled, the functions. */
  slow: { ms: number; from: number; to: number; callback: string; collectedMs: number; functions: string[]; calls: string[] }[]
}

export interface WatchedService {
  url: string
  pid: number
  said(): string
  /** Holds the event loop on purpose. */
  burn(ms: number): Promise<unknown>
  watch(work: () => Promise<unknown>, options?: { profile?: boolean; split?: boolean }): Promise<Watched>
  stop(): Promise<void>
}

export function startWatched(env: Record<string, string>): Promise<WatchedService>
