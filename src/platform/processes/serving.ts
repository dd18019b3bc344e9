import type { Config } from '../config/config.js'
import type { FirstRun } from './application.js'
import type { Started } from './messages.js'

/** The running service, in one or several processes. */
export interface Serving extends Started<FirstRun> {
  /** Makes the readiness check fail. Resolves after load balancers have had time to detect it. */
  prepareShutdown(signal: NodeJS.Signals): Promise<void>
}

/**
 * Returns how long to continue serving after a signal, because load balancers send requests until their next readiness check fails.
 */
export const getShutdownDelayMs = (signal: NodeJS.Signals, { shutdownDelaySeconds }: Config): number =>
  signal === 'SIGTERM' ? shutdownDelaySeconds * 1000 : 0
