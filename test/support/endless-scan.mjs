// A process to be killed: scans with an endless rule and prints a line at the end of the scan.
import { YaraScanner } from '../../dist/inspection/scanners/yara/yara.js'

const operators = { sources: [{ origin: 'endless.yar', text: process.argv[2] }], changedAt: null }
const scanner = await YaraScanner.open({ kind: 'native', workers: 1, operators })
const bytes = Buffer.from('this is SLOW')
scanner
  .scan({ size: bytes.length, sha256: '', bytes, stream: () => [bytes] }, { signal: new AbortController().signal })
  .catch(() => {})
setTimeout(() => console.log('scanning'), 500)
