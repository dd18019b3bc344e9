import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createValidator } from '../../src/inspection/engine/validator.js'
import { holdBytes, type Slab, Slabs } from '../../src/platform/spool/slabs.js'
import { inMemory, ScriptedScanner, submission } from '../support/validation.js'

const budget = 4_500_000
const size = 600_000

const placeOf = ({ bytes }: Slab) => [bytes.buffer, bytes.byteOffset]

describe('memory for uploads', () => {
  test('is used again when all who use it have let go, and not before', () => {
    const slabs = new Slabs(budget)
    const slab = slabs.take(size)!
    const letGo = slab.hold()
    const letGoToo = holdBytes(slab.bytes.subarray(10, 20))
    letGo()
    letGo()
    const other = slabs.take(size)!
    other.hold()
    expect(placeOf(other)).not.toEqual(placeOf(slab))
    letGoToo()
    expect(placeOf(slabs.take(size)!)).toEqual(placeOf(slab))
  })

  test('is bounded by one budget', () => {
    const slabs = new Slabs(budget)
    const letGo = slabs.take(3_000_000)!.hold()
    expect(slabs.take(size)).toBeUndefined()
    expect(slabs.reserve(1_000_000)).toBe(false)
    letGo()
    expect(slabs.reserve(1_000_000)).toBe(true)
    expect(slabs.take(size)).toBeDefined()
    slabs.free(1_000_000)
  })

  test('never has two uploads in one place, and is made once, whatever the sizes', () => {
    const slabs = new Slabs(20_000_000)
    const held: { bytes: Buffer; letGo: () => void; mark: number }[] = []
    const memory = new Set<ArrayBufferLike>()
    for (let times = 0; times < 2_000; times++) {
      const bytes = [100_000, 600_000, 1_200_000, 4_000_000][(times * 7) % 4]!
      const slab = slabs.take(bytes)
      if (!slab) {
        for (const each of held.splice((times * 31) % held.length, 3)) {
          expect([each.bytes[0], each.bytes.at(-1)]).toEqual([each.mark, each.mark])
          each.letGo()
        }
        continue
      }
      expect(slab.bytes.length).toBeGreaterThanOrEqual(bytes)
      memory.add(slab.bytes.buffer)
      const mark = times % 251
      slab.bytes[0] = mark
      slab.bytes[slab.bytes.length - 1] = mark
      held.push({ bytes: slab.bytes, letGo: slab.hold(), mark })
    }
    expect(memory.size).toBe(4)
    for (const { letGo } of held) letGo()
    expect(slabs.reserve(20_000_000)).toBe(true)
  })

  test('holds nothing of more than four mebibytes', () => {
    expect(new Slabs(100_000_000).take(5_000_000)).toBeUndefined()
  })

  test('is none of what lies elsewhere', () => {
    expect(holdBytes(Buffer.from('words'))).not.toThrow()
    expect(holdBytes(undefined)).not.toThrow()
  })
})

describe('a slab whose upload is over', () => {
  const open: ReturnType<typeof createValidator>[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((validator) => validator.close()))
  })
  const start = (options: object) => {
    const validator = createValidator({
      scanner: new ScriptedScanner({ verdict: 'clean' }),
      readerModule: pathToFileURL('test/support/hostile-readers.mjs').href,
      decoderModule: pathToFileURL('test/support/hostile-decoder.mjs').href,
      workers: 1,
      deadlineMs: 4000,
      graceMs: 200,
      ...options,
    })
    open.push(validator)
    return validator
  }

  test('is no other’s while a worker hangs over it; ended, it has had its own copy', async () => {
    const slabs = new Slabs(budget)
    const slab = slabs.take(size)!
    const letGo = slab.hold()
    const content = inMemory(slab.bytes.subarray(0, size).fill('some words\n'))
    const gone = new AbortController()
    const validator = start({})
    const judged = validator.validate(submission('a.hang', content, {}, gone.signal))
    const after = validator.validate(submission('a.slow', Buffer.from('words')))
    gone.abort(new Error('the client went away'))
    await expect(judged).rejects.toThrow('went away')
    letGo()
    expect(placeOf(slabs.take(size)!)).not.toEqual(placeOf(slab))
    // The hanging worker was ended.
    expect(await after).toMatchObject({ outcome: 'accepted' })
    expect(placeOf(slabs.take(size)!)).toEqual(placeOf(slab))
  })

  test('is used again after a reader died over it, twice', async () => {
    const slabs = new Slabs(budget)
    const slab = slabs.take(size)!
    const letGo = slab.hold()
    const content = inMemory(slab.bytes.subarray(0, size).fill('some words\n'))
    expect(await start({}).validate(submission('a.die', content))).toMatchObject({ reason: 'corrupt_file' })
    letGo()
    expect(placeOf(slabs.take(size)!)).toEqual(placeOf(slab))
  })
})
