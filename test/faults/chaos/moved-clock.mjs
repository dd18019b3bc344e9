// node --import: gives a process a clock that its parent moves with { clock: milliseconds ahead }.
const Machine = Date
let aheadMs = 0

class MovedDate extends Machine {
  constructor(...values) {
    if (values.length === 0) super(Machine.now() + aheadMs)
    else super(...values)
  }

  static now() {
    return Machine.now() + aheadMs
  }
}
globalThis.Date = MovedDate

process.on('message', ({ clock }) => {
  aheadMs = clock
})
// The channel to the parent must not keep the process alive.
process.channel?.unref()
