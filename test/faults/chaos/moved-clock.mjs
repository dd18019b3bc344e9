// --import: a process whose idea of the machine's clock its parent moves, by { clock: milliseconds ahead }.
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
// The channel alone keeps no process alive.
process.channel?.unref()
