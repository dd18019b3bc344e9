import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parseClamscanUrl } from '../../src/inspection/scanners/clamscan/clamscan.js'
import { createClamscanConnector } from '../../src/inspection/scanners/clamscan/program.js'
import { openScanner } from '../../src/inspection/scanners/index.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { clean, createFileContent, createMemoryContent, createZip, eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { eicarSignature } from '../support/real-clamd.js'

const never = () => ({ signal: new AbortController().signal })
const text = createMemoryContent('Nothing to be seen here.\n')
const unavailable = { code: 'scanner_unavailable' }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-clamscan-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('command-line scanner addresses', () => {
  test.each([
    ['clamscan:', { program: 'clamscan' }],
    ['clamscan:?database=/var/lib/clamav', { program: 'clamscan', database: '/var/lib/clamav' }],
    ['clamscan:?program=clamdscan&config=/etc/clamd.conf', { program: 'clamdscan', config: '/etc/clamd.conf' }],
  ])('parses the command-line scanner address %s', (url, parsed) => {
    expect(parseClamscanUrl(url)).toEqual(parsed)
  })

  test.each([
    'clamscan:/usr/bin',
    'clamscan:?program=rm',
    'clamscan:?config=/a',
    'clamscan:?program=clamdscan&database=/a',
    'clamscan:?x=1',
  ])("rejects the command-line scanner address '%s' with a one-sentence error", async (url) => {
    await expect(openScanner(url)).rejects.toThrow(/It must be/)
  })
})

async function writeProgram(script: string): Promise<string> {
  const path = join(folder, `program-${Math.random().toString(36).slice(2)}`)
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}
const ask = async (script: string, content = text) =>
  createClamscanConnector({ path: await writeProgram(script), flags: [] }).scan(
    { label: 'x', connect: { path: '' } },
    content,
    never().signal,
  )

describe('command-line scanner output', () => {
  test.each([
    ['echo "stdin: OK"', 'stream: OK'],
    ['cat >/dev/null; echo "stdin: Eicar FOUND"; exit 1', 'stream: Eicar FOUND'],
    ['yes warning | head -c 2000000 >&2; echo "stdin: OK"', 'stream: OK'],
  ])('parses the command-line scanner output %s', async (script, answer) => {
    expect(await ask(script)).toBe(answer)
  })

  test.each([
    ['no output', 'exit 0'],
    ['OK with the exit status of a virus', 'echo "stdin: OK"; exit 1'],
    ['a virus with the exit status of OK', 'echo "stdin: Eicar FOUND"'],
    ['OK after an error', 'echo "LibClamAV Error: no memory"; echo "stdin: OK"'],
    ['OK for another file', 'echo "/etc/passwd: OK"'],
    ['OK before an error', 'echo "stdin: OK"; exit 2'],
    ['a file that it treats as empty', 'echo "stdin: Empty file"'],
    ['an error', 'echo "stdin: Can not open file ERROR"; exit 2'],
    ['too much output', 'yes'],
    ['truncated output', 'printf "stdin: O"; kill -9 $$'],
  ])('rejects the command-line scanner output: %s', async (_, script) => {
    await expect(ask(script)).rejects.toThrow(/exited with status|exceeds the maximum length/)
  })

  test('kills a hanging clamscan process when the scan is aborted', async () => {
    const controller = new AbortController()
    const path = await writeProgram('echo $$ >"$0.pid"; exec sleep 1000')
    const scanned = createClamscanConnector({ path, flags: [] }).scan(
      { label: 'x', connect: { path: '' } },
      text,
      controller.signal,
    )
    const pid = await readPid(`${path}.pid`)
    controller.abort(new Error('gone'))
    await expect(scanned).rejects.toThrow('gone')
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})

describeWith('clamscan')('real clamscan', () => {
  let scanner: VirusScanner
  let database: string
  beforeAll(async () => {
    database = join(folder, 'test.ndb')
    await writeFile(database, eicarSignature)
    scanner = await openScanner(`clamscan:?database=${database}`)
  })
  afterAll(() => scanner?.close())

  test('scans a file on disk and content in memory with clamscan', async () => {
    const file = await createFileContent(Buffer.concat([eicar, Buffer.alloc(3_000_000, 'x')]))
    try {
      expect(await scanner.scan(file, never())).toMatchObject({ verdict: 'infected' })
      expect(await scanner.scan(text, never())).toEqual(clean)
    } finally {
      await file.remove()
    }
  })

  test('scans a zip member by member with clamscan if its declared size exceeds the scan limits', async () => {
    const scan = (bytes: Buffer) =>
      scanner.scan(createMemoryContent(createZip({ name: 'a', bytes, declaredSize: 3_000_000_000 })), never())
    expect(await scan(Buffer.from('text'))).toMatchObject({ verdict: 'clean' })
    expect(await scan(eicar)).toMatchObject({ verdict: 'infected' })
  })

  test("reports no file as clean if clamscan's signatures are missing", async () => {
    const other = join(folder, 'other.ndb')
    await writeFile(other, `Test.Other:0:0:${Buffer.from('nothing that is ever scanned').toString('hex')}\n`)
    const blind = await openScanner(`clamscan:?database=${other}`)
    await expect(blind.scan(text, never())).rejects.toMatchObject(unavailable)
    await expect(blind.verifyDetection()).rejects.toMatchObject(unavailable)
    await blind.close()
  })

  test('reports a missing clamscan database at startup', async () => {
    await expect(openScanner('clamscan:?database=/nowhere/db')).rejects.toThrow("'/nowhere/db'")
  })
})

async function readPid(path: string): Promise<number> {
  for (;;) {
    const pid = Number(await readFile(path, 'utf8').catch(() => ''))
    if (pid > 0) return pid
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
