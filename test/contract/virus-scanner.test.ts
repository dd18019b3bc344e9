import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openScanner } from '../../src/inspection/scanners/index.js'
import { hasNativeEngine } from '../../src/inspection/scanners/yara/engine.js'
import { YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { describeIf, describeWith } from '../support/installed-programs.js'
import { eicarSignature, startRealClamd } from '../support/real-clamd.js'
import { startClamdEmulator } from '../support/scripted-clamd.js'
import { virusScannerContract } from './virus-scanner.contract.js'

const nothing = async () => {}

for (const listen of ['tcp', 'unix'] as const) {
  virusScannerContract(`scripted clamd over ${listen}`, async () => {
    const daemon = await startClamdEmulator({}, listen)
    return { scanner: await openScanner(daemon.url), release: once(() => daemon.close()) }
  })
}

virusScannerContract('two scripted clamd, one of them dead, with additional rules', async () => {
  const daemon = await startClamdEmulator()
  const dead = await startClamdEmulator()
  await dead.close()
  const rulesDir = await mkdtemp(join(tmpdir(), 'assay-rules-'))
  await writeFile(join(rulesDir, 'own.yar'), 'rule of_the_operator { strings: $a = "never seen" condition: $a }')
  const scanner = await openScanner(`${dead.url},${daemon.url}`, { rulesDir, workers: 1 })
  const release = once(async () => {
    await daemon.close()
    await rm(rulesDir, { recursive: true })
  })
  return { scanner, release }
})

describeWith('clamd')('real clamd', () => {
  for (const listen of ['tcpUrl', 'unixUrl'] as const) {
    virusScannerContract(`real clamd over ${listen}`, async () => {
      const daemon = await startRealClamd()
      return { scanner: await openScanner(daemon[listen]), release: once(() => daemon.close()) }
    })
  }
})

describeWith('clamscan')('real clamscan', () =>
  virusScannerContract('clamscan', async () => {
    const database = await mkdtemp(join(tmpdir(), 'assay-clamscan-'))
    await writeFile(join(database, 'test.ndb'), eicarSignature)
    const release = once(() => rm(database, { recursive: true }))
    return { scanner: await openScanner(`clamscan:?database=${database}`), release, atOnce: 12 }
  }),
)

describeWith('clamdscan')('real clamdscan', () =>
  virusScannerContract('clamdscan --fdpass', async () => {
    const daemon = await startRealClamd()
    const scanner = await openScanner(`clamscan:?program=clamdscan&config=${daemon.configFile}`)
    return { scanner, release: once(() => daemon.close()), atOnce: 12 }
  }),
)

describeIf(hasNativeEngine(), 'the native YARA-X does not load on this platform')('native engine', () =>
  virusScannerContract('yara, native', async () => ({
    scanner: await YaraScanner.open({ kind: 'native', workers: 2 }),
    release: nothing,
  })),
)

virusScannerContract('yara, WebAssembly', async () => ({ scanner: await YaraScanner.open({ kind: 'wasm' }), release: nothing }))

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}
