// Scans with an endless rule in a process that the test kills. Prints a line if the scan ends.
import { YaraScanner } from '../../dist/inspection/scanners/yara/yara.js'

const operators = { sources: [{ origin: 'endless.yar', text: process.argv[2] }], changedAt: null }
const scanner = await YaraScanner.open({ kind: 'native', workers: 1, operators })
const bytes = Buffer.from('this is SLOW')
scanner
  .scan({ size: bytes.length, sha256: '', bytes, stream: () => [bytes] }, { signal: new AbortController().signal })
  .catch(() => {})
setTimeout(() => console.log('scanning'), 500)
