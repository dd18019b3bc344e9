import { describe, expect, test } from '@jest/globals'
import { keepMembers } from '../../packages/formats/src/archive/zip/kept-members.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { walkLimits } from '../../packages/formats/src/walk/visitor.js'
import { zip } from '../../packages/formats/test/support/samples/archive.js'
import { examine } from '../../src/inspection/engine/examine.js'
import { hasNativeEngine } from '../../src/inspection/scanners/yara/engine.js'
import { scanSource } from '../../src/inspection/scanners/yara/scanning.js'
import { eicar } from '../support/eicar.js'

const mebibyte = 1024 * 1024
const setup = { id: 'kept', kind: hasNativeEngine() ? ('native' as const) : ('wasm' as const), limits: walkLimits }

/** Reads it, then has it scanned when what is packed in it unpacks no more. */
async function scannedAfter(members: { name: string; data: Buffer }[], kept: boolean): Promise<unknown> {
  const bytes = zip(members)
  const source = new MemorySource(bytes, 'zip')
  if (kept) keepMembers(source)
  const { soundness } = await examine(source, {
    path: undefined,
    size: source.size,
    extension: 'zip',
    blank: true,
    deadlineMs: 60_000,
  })
  expect(soundness).toMatchObject({ verdict: { sound: true } })
  for (let at = bytes.indexOf('PK\x03\x04'); at >= 0; at = bytes.indexOf('PK\x03\x04', at + 1))
    bytes[at + 30 + bytes.readUInt16LE(at + 26)] = 0xff
  return scanSource(source, setup, { settings: undefined, cancelled: () => false })
}

describe('a reader and a scanner of one zip', () => {
  const filled = (length: number) => ({ name: `${length}.txt`, data: Buffer.alloc(length, 'words, ') })
  const infected = { name: 'eicar.com', data: Buffer.concat([eicar, Buffer.alloc(900)]) }

  test('have its members unpacked once', async () => {
    expect(await scannedAfter([filled(5000), infected], true)).toMatchObject({ verdict: 'infected' })
    expect(await scannedAfter([filled(5000), infected], false)).toMatchObject({ verdict: 'clean' })
  })

  test('have a large one unpacked once too, as long as there is room', async () => {
    const large = { name: 'large.txt', data: Buffer.concat([Buffer.alloc(2 * mebibyte, 'words, '), eicar]) }
    expect(await scannedAfter([filled(5 * mebibyte), large], true)).toMatchObject({ verdict: 'infected' })
    expect(await scannedAfter([filled(7 * mebibyte), large], true)).toMatchObject({ verdict: 'clean' })
    expect(await scannedAfter([large], false)).toMatchObject({ verdict: 'clean' })
  })

  test('have those unpacked again that are too many to be kept', async () => {
    const before = Array.from({ length: 8 }, (_, at) => filled(mebibyte - at))
    expect(await scannedAfter([...before.slice(1), infected], true)).toMatchObject({ verdict: 'infected' })
    expect(await scannedAfter([...before, infected], true)).toMatchObject({ verdict: 'clean' })
  })
})
