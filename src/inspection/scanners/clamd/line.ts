import type { Content } from '../../../platform/spool/content.js'
import type { ClamdAddress } from './address.js'
import { queryClamd, sendToClamd } from './commands.js'
import type { ClamdDeadlines } from './exchange.js'

/** Connection to a ClamAV engine. Resolves to response lines in clamd's format. Throws `ClamdFault` if there is none. */
export interface ClamdConnector {
  version(address: ClamdAddress, signal: AbortSignal): Promise<string>
  scan(address: ClamdAddress, content: Content, signal: AbortSignal): Promise<string>
}

const versionDeadlines: ClamdDeadlines = { connectMs: 2_000, idleMs: 5_000, answerMs: 5_000, overallMs: 5_000 }

export function createSocketConnector(deadlines: ClamdDeadlines): ClamdConnector {
  return {
    version: (address, signal) => queryClamd(address, 'VERSION', versionDeadlines, signal),
    scan: (address, content, signal) => sendToClamd(address, content, deadlines, signal),
  }
}
