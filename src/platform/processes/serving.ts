import type { Config } from '../config/config.js'
import type { FirstRun } from './application.js'
import type { Started } from './messages.js'

/** The running service, in this process or in several. */
export interface Serving extends Started<FirstRun> {
  /** Makes readiness fail. Resolves after load balancers have had time to notice. */
  prepareShutdown(signal: NodeJS.Signals): Promise<void>
}

/** Time to continue serving after a signal. A load balancer sends requests until its next readiness check fails. */
export const shutdownDelayMs = (signal: NodeJS.Signals, { shutdownDelaySeconds }: Config): number =>
  signal === 'SIGTERM' ? shutdownDelaySeconds * 1000 : 0
