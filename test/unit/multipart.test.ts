import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import busboy from 'busboy'
import { seeded } from '../../packages/formats/test/support/samples/mutations.js'
import { type FilePart, Multipart } from '../../src/api/bodies/multipart.js'
import { Spool } from '../../src/platform/spool/spool.js'

let directory: string
let spool: Spool
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'assay-multipart-'))
  spool = await Spool.open({ directory, memoryLimit: 2000 })
})
afterAll(async () => {
  await spool.close()
  await rm(directory, { recursive: true })
})

const limits = { fields: 4, files: 4, fieldSize: 100 }
type Seen = [kind: string, name?: string, content?: string]
type Take = (file: FilePart) => Promise<string>

const taken: Take = async (file) => {
  await turn()
  const { content, dispose } = await file.receive(() => Number.POSITIVE_INFINITY)
  const bytes = content!.bytes ?? (await readFile(content!.path!))
  await dispose()
  return bytes.toString('latin1')
}

/** Returns the parts of a body that arrives in these chunks. */
async function read(contentType: string, chunks: readonly Buffer[], take: Take = taken): Promise<Seen[]> {
  const request = Object.assign(Readable.from(chunks, { objectMode: false }), {
    headers: { 'content-type': contentType },
    socket: { bytesRead: 0 },
    complete: false,
  })
  request.once('end', () => (request.complete = true))
  const observed: (Seen | Promise<Seen>)[] = []
  const body = new Multipart(request as unknown as IncomingMessage, {
    spool,
    idleMs: 60_000,
    limits,
    onField: (name, value, truncated) => void observed.push([truncated ? 'cut field' : 'field', name, value]),
    onFile: (file) => {
      const content = take(file).then((text): Seen => [`file ${file.filename}`, file.name, text])
      content.catch(() => {})
      observed.push(content)
    },
    onTooMany: () => void observed.push(['too many']),
    broken: (why) => Object.assign(new Error(why), { name: 'Broken' }) as never,
  })
  const damaged = await body.read().then(
    () => [],
    (): Seen[] => [['broken']],
  )
  return [...(await Promise.all(observed.map((each) => Promise.resolve(each).catch((): Seen => ['failed'])))), ...damaged]
}

async function readText(stream: Readable): Promise<string> {
  const parts: Buffer[] = []
  stream.on('data', (part) => parts.push(part))
  await once(stream, 'end')
  return Buffer.concat(parts).toString('latin1')
}

const turns = async (count: number) => {
  for (let each = 0; each < count; each++) await turn()
}

/** Returns the parts that a simple reference parser finds. */
function parsed(contentType: string, chunks: readonly Buffer[]): Promise<Seen[]> {
  const options = {
    preservePath: true,
    defParamCharset: 'utf8',
    limits: { ...limits, parts: 8, fieldNameSize: 256, headerPairs: 32 },
  } as const
  const parser = busboy({ headers: { 'content-type': contentType }, ...options })
  const observed: (Seen | Promise<Seen>)[] = []
  parser.on(
    'field',
    (name, value, { valueTruncated }) => void observed.push([valueTruncated ? 'cut field' : 'field', name, value]),
  )
  parser.on('file', (name, stream, { filename }) => {
    stream.on('error', () => {})
    const content = readText(stream).then(
      (text): Seen => [`file ${filename ?? ''}`, name, text],
      (): Seen => ['failed'],
    )
    observed.push(content)
  })
  for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
    parser.on(event, () => void observed.push(['too many']))
  return new Promise((resolve) => {
    parser.on('error', () => resolve([['broken']]))
    parser.on('close', async () => resolve(await Promise.all(observed)))
    for (const chunk of chunks) parser.write(chunk)
    parser.end()
    // The reference parser reports nothing for some forms.
    turns(10).then(() => resolve([['broken']]))
  })
}

const pick = <T>(random: (below: number) => number, ...all: readonly T[]): T => all[random(all.length)]!
const repeat = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make)

/** Generates a form whose contents resemble its boundary and sometimes equal it. */
function generateForm(random: (below: number) => number): { contentType: string; bytes: Buffer } {
  const boundary = pick(random, 'b', '----assayForm', "a'b(c)+_,-./:=?d")
  const line = `\r\n--${boundary}`
  const nearly = () =>
    pick(random, '\r', '\n', '\r\n', '-', `--${boundary}`, line.slice(0, random(line.length)), 'x'.repeat(random(90)))
  const inside = () => (random(40) ? nearly() : line + pick(random, 'x', '-', '\r', '-x', '\rx'))
  const part = () => {
    const name = pick(random, 'file', 'context', 'ä')
    const file = random(3) && `; filename="${pick(random, 'a.txt', 'ü b.pdf')}"\r\nContent-Type: text/plain`
    const header = `Content-Disposition: form-data; name="${name}"${file || ''}`
    return `--${boundary}\r\n${header}\r\n\r\n${repeat(random(12), inside).join('')}\r\n`
  }
  const end = random(5) ? `--${boundary}--${pick(random, '', '\r\n', `\r\nepilogue${line}`)}` : pick(random, '', `--${boundary}`)
  const text = pick(random, '', '', '\r\n', 'preamble\r\n') + repeat(1 + random(5), part).join('') + end
  const quoted = boundary.includes('(') || random(2) ? `"${boundary}"` : boundary
  return { contentType: `multipart/form-data; boundary=${quoted}`, bytes: Buffer.from(text) }
}

function split(bytes: Buffer, random: (below: number) => number): Buffer[] {
  const max = pick(random, 1, 3, 30, 200, bytes.length)
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += chunks.at(-1)!.length) chunks.push(bytes.subarray(at, at + 1 + random(max)))
  return chunks
}

test('yields the same result for a multipart form in chunks of any size', async () => {
  const random = seeded(7)
  let complete = 0
  for (let round = 0; round < 200; round++) {
    const { contentType, bytes } = generateForm(random)
    for (let times = 0; times < 3; times++) {
      const chunks = split(bytes, random)
      const expected = await parsed(contentType, chunks)
      const isBroken = expected.at(-1)?.[0] === 'broken'
      const found = await read(contentType, chunks)
      if (isBroken) expect(found.at(-1)).toEqual(['broken'])
      else expect({ round, found }).toEqual({ round, found: expected })
      if (!isBroken) complete++
    }
  }
  expect(complete).toBeGreaterThan(200)
})

describe('multipart file names', () => {
  const named = async (disposition: Buffer | string, chunkBytes: number) => {
    const bytes = Buffer.concat([
      Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; '),
      Buffer.from(disposition),
      Buffer.from('\r\nContent-Type: text/plain\r\n\r\n\rcontent\n\r\n--b\r\n'),
      Buffer.from('Content-Disposition: form-data; name="context"\r\n\r\nnotes\r\n--b--\r\n'),
    ])
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes))
    const observed = await read('multipart/form-data; boundary=b', chunks)
    if (observed.at(-1)?.[0] === 'broken') return 'broken'
    expect(observed[1]).toEqual(['field', 'context', 'notes'])
    expect(observed[0]!.slice(1)).toEqual(['file', '\rcontent\n'])
    return observed[0]![0].slice('file '.length)
  }
  const controls = String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code), 0x7f)
  test.each<[string, string, string]>([
    ['is stored without control characters', `filename="${controls}.txt"`, `${'\t'.repeat(controls.length)}.txt`],
    ['may contain a lone CR or LF', 'filename="a\rb\nc\n\rd\r\re.txt"', 'a\tb\tc\t\td\t\te.txt'],
    ['may end with control characters', 'filename="a.txt\r\0\n"', 'a.txt\t\t\t'],
    ['is decoded from the three escapes of the HTML standard', 'filename="%22a%22%0D%0A.txt"', '"a"\r\n.txt'],
    ['keeps other escapes unchanged', 'filename="%41%0a%2522%00%5C%2F%u0022%2.txt"', '%41%0a%2522%00%5C%2F%u0022%2.txt'],
    ['may contain quotes escaped by a backslash', 'filename="a\\"b\\\\.txt"', 'a"b\\.txt'],
    ['may be without quotes', 'filename=a%22.txt', 'a".txt'],
    ['is decoded once if it is extended', "filename*=UTF-8''a%2522%0A%22.txt", 'a%22\n".txt'],
    ['is the extended name of two', `filename="a%22.txt"; filename*=utf-8''b%2522.txt`, 'b%22.txt'],
    ['may contain the syntax of an extended name', 'filename="%22; filename*=x.txt"', '"; filename*=x.txt'],
  ])('a multipart file name %s', async (_what, disposition, expected) => {
    for (let chunkBytes = 1; chunkBytes < 40; chunkBytes++) expect(await named(disposition, chunkBytes)).toBe(expected)
    expect(await named(disposition, 1000)).toBe(expected)
  })
  test('rejects unescaped line breaks and control characters in a file name', async () => {
    for (let chunkBytes = 1; chunkBytes < 40; chunkBytes++)
      for (const disposition of [
        'filename="a\r\nX: b.txt"',
        'filename="a.txt"\r\n\0: b',
        'filename=a\0.txt',
        'filename="a.txt"\n',
      ])
        expect({ disposition, name: await named(disposition, chunkBytes).catch(() => 'skipped') }).not.toMatchObject({
          name: expect.stringContaining('a'),
        })
  })
})
