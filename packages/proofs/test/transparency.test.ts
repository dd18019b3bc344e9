import { createHash } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createSigningKey, MemoryLog } from '../../../test/support/memory-log.js'
import { formatCheckpoint, parseCheckpoint } from '../src/checkpoint.js'
import { computeRoot, computeRootFromProof, getStoredHashes, hashLeaf } from '../src/merkle.js'
import { formatVerifierKey, isSignedBy, parseNote, signNote } from '../src/signed-note.js'
import { encodeEntryBundle, parseTilePath } from '../src/tiles.js'

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()

/** Direct implementation of the Merkle tree hash in RFC 6962, section 2.1. */
function treeHash(entries: readonly string[]): Buffer {
  if (entries.length === 0) return sha256()
  if (entries.length === 1) return sha256(Buffer.of(0), Buffer.from(entries[0]!))
  let split = 1
  while (split * 2 < entries.length) split *= 2
  return sha256(Buffer.of(1), treeHash(entries.slice(0, split)), treeHash(entries.slice(split)))
}

const entriesOf = (count: number) => Array.from({ length: count }, (_, at) => `entry ${at}`)

describe('Merkle tree', () => {
  test.each([0, 1, 2, 3, 5, 8, 255, 256, 257, 511, 600, 1025])(
    'computes the Merkle root of %d entries as specified in RFC 6962',
    (count) => {
      const entries = entriesOf(count)
      expect(new MemoryLog(entries).computeRoot()).toEqual(treeHash(entries))
    },
  )

  test('computes the Merkle root from the roots of complete subtrees in descending order of size', () => {
    const entries = entriesOf(13)
    expect(computeRoot([entries.slice(0, 8), entries.slice(8, 12), entries.slice(12)].map(treeHash))).toEqual(treeHash(entries))
  })

  test('accepts the inclusion proof of an entry only for that entry', () => {
    for (let size = 1; size <= 40; size++) {
      const entries = entriesOf(size)
      const log = new MemoryLog(entries)
      for (let index = 0; index < size; index++) {
        const proof = log.getProof(index)
        expect(computeRootFromProof(hashLeaf(entries[index]!), { index, size }, proof)).toEqual(log.computeRoot())
        expect(computeRootFromProof(hashLeaf('another'), { index, size }, proof)).not.toEqual(log.computeRoot())
        if (size > 1)
          expect(computeRootFromProof(hashLeaf(entries[index]!), { index: (index + 1) % size, size }, proof)).not.toEqual(
            log.computeRoot(),
          )
      }
    }
  })

  test('returns undefined for an inclusion proof with a wrong length or an out-of-range index', () => {
    const log = new MemoryLog(entriesOf(7))
    const leaf = log.leaves[3]!
    expect(computeRootFromProof(leaf, { index: 3, size: 7 }, [...log.getProof(3), leaf])).toBeUndefined()
    expect(computeRootFromProof(leaf, { index: 3, size: 7 }, log.getProof(3).slice(1))).toBeUndefined()
    for (const index of [7, -1, Number.NaN])
      expect(computeRootFromProof(leaf, { index, size: 7 }, log.getProof(3))).toBeUndefined()
  })

  test('splits an aligned range into adjacent runs of fewer than 256 stored hashes', () => {
    const ranges = fc.tuple(fc.nat({ max: 2 ** 31 }), fc.integer({ min: 1, max: 40 })).map(([at, bits]) => {
      const length = 1 + (at % 2 ** Math.min(bits, 30))
      const aligned = 2 ** Math.ceil(Math.log2(length))
      return { from: aligned * (at % 1000), to: aligned * (at % 1000) + length }
    })
    fc.assert(
      fc.property(ranges, ({ from, to }) => {
        let reached = from
        for (const { level, place, count } of getStoredHashes({ from, to })) {
          expect(place * 256 ** level).toBe(reached)
          expect(count).toBeLessThan(256)
          reached += count * 256 ** level
        }
        expect(reached).toBe(to)
      }),
      { seed: 20_261_123 },
    )
  })
})

describe('tile path parsing', () => {
  test.each([
    ['0/000', { level: 0, place: 0, width: 256 }],
    ['0/255.p/1', { level: 0, place: 255, width: 1 }],
    ['1/x001/234', { level: 1, place: 1234, width: 256 }],
    ['entries/x001/x234/067.p/255', { level: 'entries', place: 1234067, width: 255 }],
    ['63/999', { level: 63, place: 999, width: 256 }],
  ])('parses the tile path %s', (path, tile) => expect(parseTilePath(path)).toEqual(tile))

  test.each([
    '',
    '0',
    '0/',
    '0/0',
    '0/00',
    '0/0000',
    '0/x001',
    '0/001/234',
    '0/x000/001',
    '0/x1/234',
    '0/000.p',
    '0/000.p/',
    '0/000.p/0',
    '0/000.p/01',
    '0/000.p/256',
    '0/000.p/1000',
    '0/000/1',
    '0/000.P/1',
    '00/000',
    '01/000',
    '100/000',
    '-1/000',
    'entry/000',
    'Entries/000',
    '0/../000',
    '0//000',
    '0/000/',
    ' 0/000',
    '0/000\n',
    '0/٠٠٠',
    '0/x999/x999/x999/x999/x999/999',
  ])('rejects the tile path %j', (path) => expect(parseTilePath(path)).toBeUndefined())
})

test('encodes an entry bundle with a two-byte length before each entry', () => {
  const longest = 'x'.repeat(65_535)
  const bundle = encodeEntryBundle(['é', '', longest])
  expect(bundle.subarray(0, 6)).toEqual(Buffer.from([0, 2, 0xc3, 0xa9, 0, 0]))
  expect(bundle.subarray(6, 8)).toEqual(Buffer.from([0xff, 0xff]))
  expect(bundle.length).toBe(8 + 65_535)
})

describe('checkpoints and signed notes', () => {
  const root = new MemoryLog(['one']).computeRoot()
  const origin = 'files.example.org/log/ten_1'
  const key = createSigningKey('sig_1')
  const text = formatCheckpoint({ origin, size: 1, root })

  test("signs a checkpoint so that only the signer's key can verify it", () => {
    const note = parseNote(signNote(text, origin, key))!
    expect(note.text).toBe(`${origin}\n1\n${root.toString('base64')}\n`)
    expect(isSignedBy(note, origin, key.publicKey)).toBe(true)
    expect(isSignedBy(note, 'another.example.org', key.publicKey)).toBe(false)
    expect(isSignedBy(note, origin, createSigningKey('sig_2').publicKey)).toBe(false)
    expect(isSignedBy({ ...note, text: note.text.replace('\n1\n', '\n2\n') }, origin, key.publicKey)).toBe(false)
    expect(parseCheckpoint(note.text)).toEqual({ origin, size: 1, root })
  })

  test('includes the same name and key id in a verifier key as in its signatures', () => {
    const [name, id, base64] = formatVerifierKey(origin, key.publicKey)
      .split('+', 2)
      .concat(formatVerifierKey(origin, key.publicKey).split('+').slice(2).join('+'))
    expect(name).toBe(origin)
    expect(Buffer.from(base64!, 'base64').length).toBe(33)
    expect(parseNote(signNote(text, origin, key))!.signatures[0]!.keyId.toString('hex')).toBe(id)
  })

  test.each([
    ['no signature', `${text}\n`],
    ['no line break at the end', signNote(text, origin, key).trimEnd()],
    ['an invalid signature line', `${signNote(text, origin, key)}hello\n`],
    ['no text', ''],
  ])('rejects a signed note with %s', (_, note) => expect(parseNote(note)).toBeUndefined())

  test.each([
    '',
    'origin\n',
    'origin\n1\n',
    'origin\n01\nAAAA\n',
    `origin\n-1\n${root.toString('base64')}\n`,
    `origin\n1\n${root.toString('hex')}\n`,
  ])('rejects the checkpoint text %j', (other) => expect(parseCheckpoint(other)).toBeUndefined())
})
