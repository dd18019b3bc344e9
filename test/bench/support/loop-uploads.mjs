// Uploads files of many kinds and sizes, one by one and concurrently.
import { randomBytes } from 'node:crypto'

const MiB = 1_048_576
const repeatText = (text, size) => text.repeat(Math.max(1, Math.floor(size / text.length)))

const created = {
  txt: (size) => Buffer.alloc(size, 'some text and words\n'),
  bin: (size) => randomBytes(size),
  json: (size) => Buffer.from(`[${repeatText('{"id":1,"name":"a name","tags":["a","b"]},', size)}0]`),
  xml: (size) => Buffer.from(`<?xml version="1.0"?><list>${repeatText('<item id="1">text</item>', size)}</list>`),
  csv: (size) => Buffer.from(`id,name,amount\n${repeatText('12,a name,15.5\n', size)}`),
}
const sizes = [10 * 1024, MiB, 20 * MiB, 100 * MiB]

/** Returns one file per format family, and four sizes for families of variable size. */
export function createUploads(client, families) {
  const ofFamilies = Object.entries(families).map(([extension, [content]]) => [
    `${extension} of ${(content.length / 1024).toFixed(0)} KiB`,
    () => client.upload('loop', `a.${extension}`, content, { expect: 201 }),
  ])
  const ofSizes = sizes.flatMap((size) =>
    Object.entries(created).map(([extension, make]) => {
      let content
      return [
        `${extension} of ${size < MiB ? `${size / 1024} KiB` : `${size / MiB} MiB`}`,
        () => client.upload('loop', `a.${extension}`, (content ??= make(size)), { expect: 201 }),
      ]
    }),
  )
  return [...ofFamilies, ...ofSizes]
}

/** An event loop turn includes all work that arrived together. */
export function createConcurrentUploads(client) {
  const createConcurrentRun = (count, one) => () => Promise.all(Array.from({ length: count }, one))
  return [8, 64].flatMap((count) => [
    [
      `${count} uploads of 10 KiB`,
      createConcurrentRun(count, () => client.upload('loop', 'a.txt', created.txt(10 * 1024), { expect: 201 })),
    ],
    [
      `${count} uploads of 1 MiB`,
      createConcurrentRun(count, () => client.upload('loop', 'a.txt', created.txt(MiB), { expect: 201 })),
    ],
    [`${count} lists`, createConcurrentRun(count, () => client.get('/api/v1/files'))],
  ])
}
