// node --import: gives a process a clock that its parent moves with { clock: milliseconds ahead }.
const RealDate = Date
let aheadMs = 0

class ShiftedDate extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(RealDate.now() + aheadMs)
    else super(...values)
  }

  static now() {
    return RealDate.now() + aheadMs
  }
}
globalThis.Date = ShiftedDate

process.on('message', ({ clock }) => {
  aheadMs = clock
})
// The channel to the parent must not keep the process alive.
process.channel?.unref()
