import type { Config } from '../config/config.js'
import type { FirstRun } from './application.js'
import type { Started } from './messages.js'

/** What serves, in this process or in several. */
export interface Serving extends Started<FirstRun> {
  /** Not ready from now on. Resolves when balancers had their time to learn it; then all is to be closed. */
  leave(signal: NodeJS.Signals): Promise<void>
}

/** For so long all is served after a signal: a balancer sends on until it has asked for readiness. At a terminal there is none. */
export const delayAfter = (signal: NodeJS.Signals, { shutdownDelaySeconds }: Config): number =>
  signal === 'SIGTERM' ? shutdownDelaySeconds * 1000 : 0
