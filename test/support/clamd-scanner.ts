import { type ClamdOptions, ClamdScanner } from '../../src/inspection/scanners/clamd/clamd.js'
import { parseClamdUrl } from '../../src/inspection/scanners/clamd/exchange.js'
import { type ClamdEmulator, type Script, startClamdEmulator } from './scripted-clamd.js'

const opened: { close(): Promise<void> }[] = []

/** Closes the daemons and scanners that a test started. */
export async function closeAll(): Promise<void> {
  for (const each of opened.splice(0).reverse()) await each.close()
}

export async function startDaemon(script: Script, listen: 'tcp' | 'unix' = 'tcp'): Promise<ClamdEmulator> {
  const daemon = await startClamdEmulator(script, listen)
  opened.push(daemon)
  return daemon
}

const unlimited = { largest: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

/** Creates a scanner that uses these daemons and by default trusts their limits. */
export function createScanner(daemons: ClamdEmulator[], options: ClamdOptions = {}): ClamdScanner {
  const scanner = new ClamdScanner(
    daemons.map(({ url }) => parseClamdUrl(url)),
    { declared: unlimited, ...options },
  )
  opened.push(scanner)
  return scanner
}
