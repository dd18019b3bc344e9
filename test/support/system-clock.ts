const RealDate = Date
let aheadMs = 0

class ShiftedDate extends RealDate {
  constructor(...values: unknown[]) {
    if (values.length === 0) super(RealDate.now() + aheadMs)
    else super(...(values as [number]))
  }

  static override now(): number {
    return RealDate.now() + aheadMs
  }
}

/** Moves this process's clock forward or back by `ms`. 0 resets the clock. */
export function shiftSystemClock(ms: number): void {
  aheadMs = ms
  globalThis.Date = ms === 0 ? RealDate : (ShiftedDate as DateConstructor)
}
