import { channel } from 'node:diagnostics_channel'

const passed = channel('assay:fault-point')

/**
 * Publishes a step after which a test kills the process. The service must recover from each crash without manual intervention.
 * Nothing subscribes in production. In tests, test/support/fault-point.mjs kills the process.
 */
export function reachFaultPoint(name: string): void {
  if (passed.hasSubscribers) passed.publish(name)
}
