import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import { FileFollower } from '../../src/inspection/engine/file-follower.js'
import { Tus } from '../support/tus.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
const written = jest.spyOn(FileFollower.prototype, 'written')
beforeAll(async () => {
  world = await World.open()
  tenant = await world.tenant()
  await tenant.context('scanned')
  await tenant.context('unscanned', { scan_for_viruses: false })
  // A context that is remembered is known before its file's first byte.
  for (const context of ['scanned', 'unscanned']) await tenant.admin.upload(context, 'a.txt', 'text')
})
afterEach(() => void written.mockClear())
afterAll(() => world.close())

const text = Buffer.alloc(4_800_000, 'one line of plain text\n')
const uploadFile = 'mutation ($file: Upload!, $context: String!) { uploadFile(file: $file, context: $context) { sizeBytes } }'

const ways: Record<string, (context: string) => Promise<unknown>> = {
  REST: async (context) => (await tenant.admin.upload(context, 'a.txt', text)).body.data.size_bytes,
  GraphQL: async (context) =>
    (await tenant.admin.graphqlUpload(uploadFile, { context }, 'a.txt', text)).body.data.uploadFile.sizeBytes,
  tus: async (context) => {
    const tus = new Tus(tenant.admin)
    const path = await tus.begin(context, 'a.txt', text.length)
    return Number((await tus.patch(path, 0, text)).headers.get('upload-offset'))
  },
}

test.each(Object.keys(ways))('a large upload by %s is followed while it is received, where it will be scanned', async (way) => {
  expect(await ways[way]!('scanned')).toBe(text.length)
  expect(written).toHaveBeenLastCalledWith(text.length)
  written.mockClear()
  expect(await ways[way]!('unscanned')).toBe(text.length)
  expect(written).not.toHaveBeenCalled()
})
