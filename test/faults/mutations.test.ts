import { afterAll, expect, test } from '@jest/globals'
import sharp from 'sharp'
import * as basic from '../../packages/formats/test/support/samples/basic.js'
import { heic } from '../../packages/formats/test/support/samples/heic.js'
import { webp } from '../../packages/formats/test/support/samples/image.js'
import * as text from '../../packages/formats/test/support/samples/text.js'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import { createSubmission, ScriptedScanner } from '../support/validation.js'

const engine = createInspector({
  scanner: new ScriptedScanner({ verdict: 'clean' }),
  deadlineMs: 20_000,
  workers: 2,
  idleMs: 300,
})
afterAll(() => engine.close())

const picture = (format: 'jpeg' | 'webp' | 'tiff'): Promise<Buffer> =>
  sharp({ create: { width: 24, height: 24, channels: 3, background: 'teal', noise: { type: 'gaussian', mean: 128, sigma: 30 } } })
    .toFormat(format)
    .toBuffer()

const samples: Record<string, () => Buffer | Promise<Buffer>> = {
  png: basic.png,
  gif: basic.gif,
  bmp: basic.bmp,
  jpg: () => picture('jpeg'),
  webp: () => picture('webp'),
  heic: () => heic(),
  tiff: () => picture('tiff'),
  pdf: () => basic.pdf({ pages: 3 }),
  zip: () => basic.zip({ 'a.txt': 'hello', 'b/c.txt': 'x'.repeat(500) }),
  docx: basic.docx,
  odt: basic.odt,
  jar: basic.jar,
  doc: () => basic.ole('WordDocument', '1Table'),
  gz: basic.gz,
  tar: basic.tar,
  wav: basic.wav,
  mp3: basic.mp3,
  mp4: () => basic.isoMedia('isom', ['vide', 'soun']),
  json: () =>
    Buffer.from(JSON.stringify(Array.from({ length: 40 }, (_, id) => ({ id, name: `n${id}`, tags: [id, null, true] })))),
  xml: () => Buffer.from(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e "text">]><a>${'<b c="d">&e;</b>'.repeat(40)}</a>`),
  svg: () => text.svg('<path d="M0 0L10 10"/>'.repeat(20)),
  csv: () => Buffer.from('a,b,c\n1,2,3\n'.repeat(40)),
}

/** Changes, truncates, duplicates, moves or clears some bytes. */
function mutate(bytes: Buffer, random: () => number): Buffer {
  const at = () => Math.floor(random() * bytes.length)
  const copy = Buffer.from(bytes)
  const [one, other] = [at(), at()].sort((a, b) => a - b) as [number, number]
  switch (Math.floor(random() * 6)) {
    case 0:
      for (let count = 0; count < 8; count++) copy[at()] = random() * 256
      return copy
    case 1:
      return copy.subarray(0, one + 1)
    case 2:
      return Buffer.concat([copy.subarray(0, other), copy.subarray(one)])
    case 3:
      return Buffer.concat([copy.subarray(0, one), copy.subarray(other)])
    case 4:
      return copy.fill(random() < 0.5 ? 0 : 255, one, Math.min(other, one + 64))
    default:
      if (copy.length >= 4) copy.writeUInt32LE(Math.floor(random() * 2 ** 32), Math.floor(random() * (copy.length - 3)))
      return copy
  }
}

test('returns a report for each of hundreds of seeded file mutations', async () => {
  const random = text.seeded(20_261_120)
  const dead: string[] = []
  const tally: Record<string, number> = {}
  for (const [extension, make] of Object.entries(samples)) {
    const valid = await make()
    const reports = await Promise.all(
      Array.from({ length: 25 }, () => engine.inspect(createSubmission(`a.${extension}`, mutate(valid, random)))),
    )
    for (const { reason, checks } of reports) {
      tally[reason ?? 'accepted'] = (tally[reason ?? 'accepted'] ?? 0) + 1
      if (checks[3]?.evidence.worker) dead.push(`${extension}: ${checks[3].message}`)
    }
  }
  expect(dead).toEqual([])
  expect(Object.keys(tally).sort()).toEqual(expect.arrayContaining(['accepted', 'corrupt_file']))
  expect(engine.pool.threads.size).toBeGreaterThan(0)
  // The service decodes images with native code in a separate process.
  expect(await engine.inspect(createSubmission('a.webp', await webp()))).toMatchObject({ outcome: 'accepted' })
  // Waits until memory returns to its initial size.
  const held = engine.pool.processes.pids
  expect(held.length).toBeGreaterThan(0)
  // Waits until idle processes end.
  while (engine.pool.threads.size > 0 || held.some(lives)) await new Promise((resolve) => setTimeout(resolve, 20))
})

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
