import { channel } from 'node:diagnostics_channel'

const passed = channel('assay:fault-point')

/** Publishes a step after which test/support/fault-point.mjs kills the process. Nothing subscribes in production. */
export function reachFaultPoint(name: string): void {
  if (passed.hasSubscribers) passed.publish(name)
}
