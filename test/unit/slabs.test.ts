import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createValidator } from '../../src/validation/validator.js'
import { holdBytes, Slabs } from '../../src/workers/slabs.js'
import { inMemory, ScriptedScanner, submission } from '../support/validation.js'

const budget = 4_500_000
const size = 600_000

describe('memory for uploads', () => {
  test('is used again when all who use it have let go, and not before', () => {
    const slabs = new Slabs({ budget })
    const slab = slabs.take(size)!
    const letGo = slab.hold()
    const letGoToo = holdBytes(slab.bytes.subarray(10, 20))
    letGo()
    letGo()
    const other = slabs.take(size)!
    other.hold()
    expect(other).not.toBe(slab)
    letGoToo()
    expect(slabs.take(size)).toBe(slab)
  })

  test('is bounded by one budget; what is idle gives way to what is wanted', () => {
    const slabs = new Slabs({ budget })
    const held = [slabs.take(3_000_000)!.hold()]
    expect(slabs.take(size)).toBeUndefined()
    expect(slabs.reserve(1_000_000)).toBe(false)
    held[0]!()
    expect(slabs.reserve(1_000_000)).toBe(true)
    expect(slabs.take(size)).toBeDefined()
  })

  test('is given back when it was idle for a while', async () => {
    const slabs = new Slabs({ budget, idleMs: 10 })
    const first = slabs.take(size)!
    first.hold()()
    while (!slabs.reserve(budget)) await new Promise((resolve) => setTimeout(resolve, 10))
    slabs.free(budget)
    expect(slabs.take(size)).not.toBe(first)
  })

  test('holds nothing of more than four mebibytes', () => {
    expect(new Slabs({ budget: 100_000_000 }).take(5_000_000)).toBeUndefined()
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
      deadlineMs: 1500,
      graceMs: 200,
      ...options,
    })
    open.push(validator)
    return validator
  }

  test('is no other’s while a worker hangs over it; ended, it has had its own copy', async () => {
    const slabs = new Slabs({ budget })
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
    const meanwhile = slabs.take(size)
    expect(meanwhile).not.toBe(slab)
    // The hanging worker was ended.
    expect(await after).toMatchObject({ outcome: 'accepted' })
    expect(slabs.take(size)).toBe(slab)
  })

  test('is used again after a reader died over it, twice', async () => {
    const slabs = new Slabs({ budget })
    const slab = slabs.take(size)!
    const letGo = slab.hold()
    const content = inMemory(slab.bytes.subarray(0, size).fill('some words\n'))
    expect(await start({}).validate(submission('a.die', content))).toMatchObject({ reason: 'corrupt_file' })
    letGo()
    expect(slabs.take(size)).toBe(slab)
  })
})
