import { channel } from 'node:diagnostics_channel'

const passed = channel('assay:fault-point')

/** Reports a step at which test/support/fault-point.mjs can kill the process. Nothing subscribes in production. */
export function reachFaultPoint(name: string): void {
  if (passed.hasSubscribers) passed.publish(name)
}
