import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { waitUntil } from '../support/identity-world.js'
import { findFreePort, Service, type Start } from '../support/service.js'
import { canMount } from '../support/small-disk.js'
import { Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let service: Service | undefined
let store: string

beforeEach(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('raw', { allowed_extensions: ['bin'], scan_for_viruses: false, max_file_size_mb: 20 })
  store = join(world.dataDir, 'store')
  await mkdir(store)
})
afterEach(async () => {
  await service?.stop('SIGKILL')
  await world.close()
})

async function run(how: Start): Promise<Caller> {
  service = Service.run(
    {
      DATABASE_URL: world.databaseUrl,
      MASTER_KEY: world.config.masterKey!.toString('base64'),
      DATA_DIR: join(world.dataDir, 'data'),
      STORAGE_URL: `file://${store}`,
      SCANNER_URL: 'none:',
      PORT: await findFreePort(),
    },
    how,
  )
  const caller = new Caller(service.url, tenant.admin.credential)
  await waitUntil(() =>
    caller.raw('/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  return caller
}

/** Builds a command that runs with `folder` mounted separately from the same file system. */
const asMount = (folder: string) => [
  ...['unshare', '--user', '--map-root-user', '--mount', 'env', `PLACE=${folder}`],
  ...['sh', '-c', 'mount --bind "$PLACE" "$PLACE" && exec "$@"', 'sh'],
]

describe('store on a different mount', () => {
  test('accepts uploads of any size if the store is another mount of the same file system', async () => {
    if (!(await canMount(store))) return
    const caller = await run({ under: asMount(store) })
    for (const bytes of [1000, 300_000, 5_000_000]) {
      const content = randomBytes(bytes)
      const { status, body } = await caller.upload('raw', 'a.bin', content)
      expect([bytes, status]).toEqual([bytes, 201])
      const { download_url: url } = (await caller.get(`/files/${body.data.file_id}`)).body.data
      const back = Buffer.from(await (await fetch(url.replace(/^http:\/\/[^/]+/, service!.url))).arrayBuffer())
      expect(back.equals(content)).toBe(true)
    }
    expect(await readdir(join(world.dataDir, 'data', 'spool'))).toHaveLength(1)
  })
})

describe('temporary folder', () => {
  test("does not delete other programs' files from the temporary folder, and recreates the folder if it is deleted", async () => {
    const spool = join(world.dataDir, 'data', 'spool')
    await mkdir(join(spool, 'somebody-elses'), { recursive: true })
    const caller = await run({})
    expect(await readdir(spool)).toContain('somebody-elses')
    await rm(spool, { recursive: true })
    expect((await caller.upload('raw', 'a.bin', randomBytes(5_000_000))).status).toBe(201)
    await rm(spool, { recursive: true })
    expect((await caller.raw('/health/ready')).status).toBe(200)
  })
})

describe('standard output and error on a full disk', () => {
  test('runs and shuts down even if standard output and error are on a full disk', async () => {
    const caller = await run({ under: ['sh', '-c', 'exec "$@" >/dev/full 2>/dev/full', 'sh'] })
    expect((await caller.upload('raw', 'a.bin', randomBytes(10))).status).toBe(201)
    expect((await service!.stop()).status).toBe(0)
  })

  test('exits after a failed start even if standard output and error are on a full disk', async () => {
    service = Service.run({ PORT: 'many' }, { under: ['sh', '-c', 'exec "$@" >/dev/full 2>/dev/full', 'sh'] })
    expect((await service.ended).status).toBe(1)
  })
})
