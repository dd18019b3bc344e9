import { randomBytes } from 'node:crypto'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type AssayClient, AssayError, createClient } from '../../src/client/index.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let way: BrokenWay

beforeAll(async () => {
  world = await World.open()
  tenant = await world.tenant()
  await tenant.context('raw', { allowed_extensions: ['bin', 'txt'], max_file_size_mb: 40, scan_for_viruses: false })
  way = await BrokenWay.open(world.url)
})
afterAll(async () => {
  await way.close()
  await world.close()
})

/** A way to the service that breaks after so many bytes, each time anew. */
class BrokenWay {
  #breaks: number[] = []
  broken = 0
  private constructor(
    readonly server: Server,
    readonly target: number,
  ) {}

  static async open(url: string): Promise<BrokenWay> {
    const server = createServer()
    const way = new BrokenWay(server, Number(new URL(url).port))
    server.on('connection', (socket) => way.#lead(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return way
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`
  }

  breakAfter(...bytes: number[]): void {
    this.#breaks = bytes
    this.broken = 0
  }

  #lead(socket: Socket): void {
    const onward = connect(this.target, '127.0.0.1')
    let left = Number.POSITIVE_INFINITY
    let seen = 0
    socket.on('error', () => onward.destroy()).on('close', () => onward.destroy())
    onward.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    onward.pipe(socket)
    socket.on('data', (chunk: Buffer) => {
      // Decided once a body is seen: small requests pass.
      if (seen === 0 || left === Number.POSITIVE_INFINITY) left = this.#breaks[0] ?? Number.POSITIVE_INFINITY
      seen += chunk.length
      onward.write(chunk)
      if (seen < left) return
      this.#breaks.shift()
      this.broken++
      socket.destroy()
      onward.destroy()
    })
  }

  async close(): Promise<void> {
    this.server.close()
  }
}

const clientBy = (url: string): AssayClient => createClient({ baseUrl: url, apiKey: tenant.admin.credential! })
const files = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

test('a large file goes in several requests, goes on where a connection broke, and is one file and one call', async () => {
  const content = randomBytes(20 * 1_048_576)
  way.breakAfter(3_000_000, 5_000_000, 1_000_000)
  const steps: number[] = []
  const file = await clientBy(way.url).files.upload(new Blob([content]), {
    context: 'raw',
    filename: 'large.bin',
    metadata: { year: 2026 },
    onProgress: ({ sent, total }) => {
      expect(total).toBe(content.length)
      steps.push(sent)
    },
  })
  expect(way.broken).toBe(3)
  expect(file).toEqual({
    file_id: expect.stringMatching(/^file_/),
    original_filename: 'large.bin',
    content_type: 'application/octet-stream',
    size_bytes: content.length,
    context_key: 'raw',
  })
  expect(steps.at(-1)).toBe(content.length)
  const client = clientBy(world.url)
  const response = await client.files.download(file.file_id)
  expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
  expect((await client.files.get(file.file_id)).metadata).toEqual({ year: 2026 })
  expect((await client.logs.calls({ operation: 'upload' })).pagination.total_items).toBe(1)
  expect(await files()).toBe(1)
})

test('a refusal tells its reason, at the beginning and at the end', async () => {
  const client = clientBy(world.url)
  const refused = async (name: string, content: string) =>
    client.files.upload(new Blob([content]), { context: 'raw', filename: name, resumable: true }).then(
      () => undefined,
      (error: AssayError) => error,
    )
  expect(await refused('program.exe', 'x')).toMatchObject({ code: 'invalid_extension', status: 422 })
  const blank = await refused('blank.txt', '   ')
  expect(blank).toBeInstanceOf(AssayError)
  expect(blank).toMatchObject({ code: 'blank_file', status: 422, requestId: expect.stringMatching(/^req_/) })
})

test('a signal ends it', async () => {
  const abort = new AbortController()
  const sending = clientBy(world.url).files.upload(new Blob([randomBytes(20 * 1_048_576)]), {
    context: 'raw',
    filename: 'ended.bin',
    signal: abort.signal,
    onProgress: () => abort.abort(new Error('enough')),
  })
  await expect(sending).rejects.toThrow('enough')
})

test('where the service is away, the fault says so', async () => {
  const sending = createClient({ baseUrl: world.url, apiKey: 'assay_wrong' }).files.upload(new Blob(['x']), {
    context: 'raw',
    filename: 'a.txt',
    resumable: true,
  })
  await expect(sending).rejects.toMatchObject({ code: 'unauthenticated', status: 401 })
})
