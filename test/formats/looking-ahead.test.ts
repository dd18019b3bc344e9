import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { defaultLimits } from '../../packages/formats/src/inspect.js'
import { type Ahead, FileSource } from '../../packages/formats/src/random-access-source.js'
import { readText } from '../../packages/formats/src/text/text.js'
import { FileFollower } from '../../src/inspection/engine/file-follower.js'
import { lookAhead } from '../../src/inspection/engine/looking-ahead.js'
import { eicar } from '../../src/inspection/scanners/eicar.js'
import { overlapBytes, unpackLimits, windowBytes } from '../../src/inspection/scanners/yara/limits.js'
import { scanSource } from '../../src/inspection/scanners/yara/scanning.js'
import { WorkerPool } from '../../src/inspection/workers/worker-pool.js'

const megabyte = 1_048_576
const size = 9 * megabyte
const setup = { id: 'ahead', kind: 'native' as const, limits: unpackLimits }
const call = { bytes: undefined, settings: undefined, cancelled: () => false }
const none: Ahead = { scanned: 0, plain: 0 }
const step = windowBytes - overlapBytes
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-ahead-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A text of 9 MiB with these in it, by where they begin. */
function file(...inserted: [number, string | Buffer][]): string {
  const bytes = Buffer.alloc(size, 'one line of plain text, as it may come\n')
  for (const [at, insertion] of inserted) Buffer.from(insertion as string).copy(bytes, at)
  const path = join(folder, `${inserted.map(([at]) => at).join('-')}.txt`)
  writeFileSync(path, bytes)
  return path
}

const lookedAt = (path: string, written: number, ahead = none) => lookAhead({ path, written, ahead, setup }, call)

/** What the readers of text and the scanner say of all of it. */
async function judged(path: string, ahead?: Ahead) {
  const source = new FileSource(path, 'txt', ahead)
  const { provedAt: _, ...scanned } = (await scanSource(source, setup, call)) as { provedAt: Date }
  const read = await readText(source, defaultLimits(30_000))
  source.close()
  return { scanned, read }
}

const web = '<?php echo 1;'
const shell = '\neval(base64_decode($_POST["x"]));'
const euro = '€'
const contents: [string, 'clean' | 'infected', [number, string | Buffer][]][] = [
  ['plain text', 'clean', []],
  ['EICAR in the first window', 'infected', [[megabyte, eicar]]],
  ['EICAR across the end of the first', 'infected', [[windowBytes - 30, eicar]]],
  ['EICAR in the last', 'infected', [[size - 100, eicar]]],
  [
    'a script in two windows',
    'infected',
    [
      [0, web],
      [8 * megabyte, shell],
    ],
  ],
  [
    'a character across the end of a window',
    'clean',
    [
      [windowBytes - 1, euro],
      [step - 2, euro],
      [step + windowBytes - 2, euro],
    ],
  ],
  ['a byte that is not UTF-8', 'clean', [[6 * megabyte, Buffer.from([0xff])]]],
  ['half a character at the end of a window', 'clean', [[windowBytes - 1, Buffer.from([0xe2])]]],
  ['controls in the second window', 'clean', [[5 * megabyte, Buffer.alloc(megabyte)]]],
  ['a mark at the beginning', 'clean', [[0, Buffer.from([0xef, 0xbb, 0xbf])]]],
]

describe('a file that was looked at while it was received', () => {
  test.each(contents)('is judged as one that was not: %s', async (_, verdict, inserted) => {
    const path = file(...inserted)
    const expected = await judged(path)
    expect(expected.scanned).toMatchObject({ verdict })
    let ahead = none
    for (const written of [windowBytes + 1, size]) {
      ahead = await lookedAt(path, written, ahead)
      expect(await judged(path, ahead)).toEqual(expected)
    }
  })

  test('is looked at as far as whole windows are there, but for the last', async () => {
    const path = file()
    expect(await lookedAt(path, windowBytes)).toEqual(none)
    expect(await lookedAt(path, windowBytes + 1)).toEqual({ scanned: step, plain: windowBytes })
    expect(await lookedAt(path, size)).toEqual({ scanned: 2 * step, plain: step + windowBytes })
  })

  test('is not looked at beyond what there is to find', async () => {
    expect((await lookedAt(file([5 * megabyte, eicar]), size)).scanned).toBe(step)
    expect((await lookedAt(file([0, web]), size)).scanned).toBe(0)
  })

  test('is scanned from its beginning where it is shorter than was said', async () => {
    const { scanned } = await judged(file([0, eicar]), { scanned: 20 * megabyte, plain: 0 })
    expect(scanned).toMatchObject({ verdict: 'infected' })
  })
})

describe('what follows a file', () => {
  const followed = (path: string) => ({ path, size, owner: 'a' })

  test('has it looked at by a worker, and is over with what it knows at the end', async () => {
    const pool = new WorkerPool({ workers: 1 })
    const follower = new FileFollower(pool, { setup, deadlineOf: () => 20_000 }, followed(file()))
    follower.written(size)
    expect(await follower.end()).toEqual({ scanned: 2 * step, plain: step + windowBytes })
    await pool.close()
  })

  test('knows nothing of a file that cannot be read, nor while workers are busy', async () => {
    const pool = new WorkerPool({ workers: 1 })
    const gone = new FileFollower(pool, { setup, deadlineOf: () => 20_000 }, followed(join(folder, 'gone')))
    const second = new FileFollower(pool, { setup, deadlineOf: () => 20_000 }, followed(file()))
    gone.written(size)
    second.written(size)
    expect([await gone.end(), await second.end()]).toEqual([none, none])
    await pool.close()
  })
})
