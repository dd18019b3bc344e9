const Machine = Date
let aheadMs = 0

class MovedDate extends Machine {
  constructor(...values: unknown[]) {
    if (values.length === 0) super(Machine.now() + aheadMs)
    else super(...(values as [number]))
  }

  static override now(): number {
    return Machine.now() + aheadMs
  }
}

/** Moves this process's clock forward or back by `ms`. 0 resets the clock. */
export function shiftSystemClock(ms: number): void {
  aheadMs = ms
  globalThis.Date = ms === 0 ? Machine : (MovedDate as DateConstructor)
}
