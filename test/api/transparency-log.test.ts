import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCheckpoint } from '../../packages/proofs/src/checkpoint.js'
import { parseNote } from '../../packages/proofs/src/signed-note.js'
import { routes } from '../../src/api/rest/routes.js'
import { growJournal } from '../support/journal.js'
import { MemoryLog } from '../support/memory-log.js'
import { exchange } from '../support/raw-exchange.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
})
afterAll(() => world.close())

async function getCheckpoint(caller: Caller) {
  const { status, body } = await caller.get('/log/checkpoint')
  expect(status).toBe(200)
  return parseCheckpoint(parseNote(body)!.text)!
}

async function getBytes(caller: Caller, path: string): Promise<Buffer> {
  const response = await fetch(`${world.url}/api/v1/log/tile/${path}`, {
    headers: { authorization: `Bearer ${caller.credential}` },
  })
  expect([path, response.status]).toEqual([path, 200])
  return Buffer.from(await response.arrayBuffer())
}

const formatIndex = (place: number) => String(place).padStart(3, '0')
const formatTile = (from: number, size: number) => formatIndex(from / 256) + (size - from < 256 ? `.p/${size - from}` : '')

/** Reads the first `size` log entries as an auditor would. */
async function readEntries(caller: Caller, size: number): Promise<string[]> {
  const entries: string[] = []
  for (let from = 0; from < size; from += 256) {
    const bundle = await getBytes(caller, `entries/${formatTile(from, size)}`)
    for (let at = 0; at < bundle.length; ) {
      const length = bundle.readUInt16BE(at)
      entries.push(bundle.toString('utf8', at + 2, at + 2 + length))
      at += 2 + length
    }
  }
  return entries
}

describe('transparency log with 66,000 entries', () => {
  const size = 66_000
  let log: MemoryLog
  let long: TestTenant
  beforeAll(async () => {
    long = await world.createTenant()
    await growJournal(world.database.pool, long.tenantId, size)
    log = new MemoryLog(await readEntries(long.admin, size))
  })

  test('returns transparency log entries whose root hash matches the signed checkpoint', async () => {
    const checkpoint = await getCheckpoint(long.admin)
    expect(checkpoint.origin).toBe(`${new URL(world.url).host}/log/${long.tenantId}`)
    expect([checkpoint.size, log.leaves.length]).toEqual([size, size])
    expect(checkpoint.root).toEqual(log.computeRoot())
  })

  test('returns log tiles at levels 0 to 2 whose hashes cover 1, 256 and 65,536 entries', async () => {
    expect(await getBytes(long.admin, '0/000')).toEqual(Buffer.concat(log.leaves.slice(0, 256)))
    expect(await getBytes(long.admin, '0/257.p/208')).toEqual(Buffer.concat(log.leaves.slice(257 * 256)))
    const ofTile = (at: number) => log.computeRoot(at * 256, at * 256 + 256)
    expect(await getBytes(long.admin, '1/000')).toEqual(Buffer.concat(Array.from({ length: 256 }, (_, at) => ofTile(at))))
    expect(await getBytes(long.admin, '1/001.p/1')).toEqual(ofTile(256))
    expect(await getBytes(long.admin, '2/000.p/1')).toEqual(log.computeRoot(0, 65_536))
  })

  test('returns transparency log proofs that can be verified against the root', async () => {
    const service = world.app.services.log
    for (const index of [0, 1, 255, 256, 65_535, 65_536, 65_999, 40_000]) {
      for (const length of [size, index + 1, 65_536, 300].filter((each) => each > index))
        expect(await service.getInclusionProof(long.tenantId, index, length)).toEqual(log.getProof(index, length))
    }
  })

  test.each([
    ['0/257', 'full tile that is not full yet'],
    ['0/257.p/209', 'one entry too many'],
    ['0/258.p/1', 'tile after the end'],
    ['1/001', 'full tile of a higher level'],
    ['1/001.p/2', 'one hash too many on a higher level'],
    ['2/000', 'full tile of the highest level'],
    ['3/000.p/1', 'level that does not exist yet'],
    ['63/000.p/1', 'highest possible level'],
    ['entries/257', 'full bundle that is not full yet'],
    ['entries/258.p/1', 'bundle after the end'],
    ['entries/x999/x999/x999/999', 'bundle far after the end'],
    ['0/x999/x999/x999/x999/999', 'tile above the numbering limit'],
    ['0/000.p/256', 'partial tile that would be full'],
    ['0/0', 'index of one digit'],
    ['0/x000/001', 'index with leading zeros'],
    ['00/000', 'level with leading zeros'],
    ['0/000?', 'empty query string', 200],
    ['0/000/', 'trailing slash'],
    ['0/%30%30%30', 'encoded digits'],
    ["0/000'--", 'quotation mark'],
    ['', 'empty path'],
  ])('validates the tile path %s: %s', async (path, _what, status = 404) => {
    expect((await long.admin.get(`/log/tile/${path}`)).status).toBe(status)
  })

  test('returns 404 for path traversal in a tile path', async () => {
    for (const path of ['0/../0/000', '0//000', './0/000', '0/000/..', '../checkpoint']) {
      const response = await exchange(
        world.url,
        [
          `GET /api/v1/log/tile/${path} HTTP/1.1`,
          'Host: x',
          `Authorization: Bearer ${long.admin.credential}`,
          'Connection: close',
          '',
          '',
        ].join('\r\n'),
      )
      expect([path, response.status]).toEqual([path, 404])
    }
  })
})

describe('transparency log responses', () => {
  test('marks log tiles as private and immutable, and forbids caching of checkpoints', async () => {
    await growJournal(world.database.pool, tenant.tenantId, 300)
    const { headers } = await tenant.admin.get('/log/tile/0/000')
    expect(headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
    expect(headers.get('vary')).toContain('Authorization')
    expect(headers.get('content-type')).toBe('application/octet-stream')
    for (const path of ['/log/checkpoint', '/log/key']) {
      const response = await tenant.admin.get(path)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(response.headers.get('ratelimit')).toMatch(/^"key";r=/)
    }
  })

  test('returns the same checkpoint and log key over GraphQL as over REST', async () => {
    const { body } = await tenant.admin.graphql('{ logCheckpoint { origin size rootHash checkpoint verifierKey } }')
    const { checkpoint, verifierKey, ...output } = body.data.logCheckpoint
    const { origin, size, root } = await getCheckpoint(tenant.admin)
    expect(output).toEqual({ origin, size, rootHash: root.toString('base64') })
    expect((await tenant.admin.get('/log/checkpoint')).body).toBe(checkpoint)
    expect((await tenant.admin.get('/log/key')).body).toBe(`${verifierKey}\n`)
  })

  test('accepts only GET and HEAD requests to the transparency log', async () => {
    for (const path of ['/log/checkpoint', '/log/key', '/log/tile/0/000']) {
      expect((await tenant.admin.raw(`/api/v1${path}`, { method: 'HEAD' })).status).toBe(200)
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const response = await tenant.admin.rest(method, path)
        expect([...toStatusAndCode(response), response.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD'])
      }
    }
  })

  test('hides the transparency log from a key restricted to some contexts', async () => {
    await tenant.createContext('notes')
    const restricted = await tenant.createKey(['metadata', 'upload'], { contexts: ['notes'] })
    expect(toStatusAndCode(await restricted.get('/log/checkpoint'))).toEqual([403, 'forbidden'])
  })
})

describe('auditor tokens', () => {
  const share = async (days?: number) => {
    const { status, body } = await tenant.admin.post('/log/share', days === undefined ? {} : { days })
    expect(status).toBe(201)
    return {
      id: body.data.share_id as string,
      reader: world.createCaller(body.data.token),
      expiresAt: Date.parse(body.data.expires_at),
    }
  }

  test('grants an auditor token access only to the log of its own tenant', async () => {
    const { reader } = await share()
    const other = await world.createTenant()
    await growJournal(world.database.pool, tenant.tenantId, 300)
    expect((await getCheckpoint(reader)).origin).toContain(tenant.tenantId)
    expect((await reader.get('/log/key')).status).toBe(200)
    expect(await getBytes(reader, '0/000')).toEqual(await getBytes(tenant.admin, '0/000'))
    expect(await readEntries(reader, 300)).toEqual(await readEntries(tenant.admin, 300))
    expect((await getCheckpoint(other.admin)).origin).toContain(other.tenantId)
  })

  test('rejects an auditor token at all other endpoints', async () => {
    const { reader } = await share()
    for (const { method, path } of routes) {
      const response = await reader.rest(method, path.replaceAll(/\{\w+\}/g, 'x'))
      expect([path, ...toStatusAndCode(response)]).toEqual([path, 401, 'unauthenticated'])
      expect([path, response.body.message]).toEqual([
        path,
        expect.stringMatching(/^This is a log access token, which grants access only to .*\/log\//),
      ])
    }
    for (const path of ['/stats/logs/export', '/audit-logs/export', '/uploads/upl_x'])
      expect([path, ...toStatusAndCode(await reader.get(path))]).toEqual([path, 401, 'unauthenticated'])
    const graphql = await reader.graphql('{ logCheckpoint { size } me { name } }')
    expect(graphql.body.errors.length).toBeGreaterThan(0)
    expect(graphql.body.errors[0].message).toMatch(/^This is a log access token,/)
    expect(graphql.body.data ?? {}).not.toHaveProperty('logCheckpoint.size')
  })

  test('returns an auditor token only once and stores only its hash', async () => {
    const { id, reader } = await share(7)
    const secret = reader.credential!.split('_').slice(3).join('_')
    const { rows } = await world.database.pool.query('SELECT * FROM log_shares WHERE share_id = $1', [id])
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect(rows[0].token_hash.toString('base64url')).not.toBe(secret)
    const listed = await tenant.admin.get('/log/shares')
    expect(listed.body.data.data[0]).toEqual({
      share_id: id,
      created_by: tenant.admin.id,
      created_at: expect.any(String),
      expires_at: expect.any(String),
    })
    const { body } = await tenant.admin.get(`/audit-logs?entity_id=${id}`)
    expect(body.data.data).toEqual([expect.objectContaining({ action: 'created', entity_type: 'log_share' })])
    expect(JSON.stringify(body)).not.toContain(secret)
  })

  test.each([
    [undefined, 90],
    [1, 1],
    [365, 365],
  ])('with `days` set to %p, creates an auditor token that is valid for %d days', async (requestedDays, days) => {
    const { expiresAt } = await share(requestedDays)
    expect(Math.round((expiresAt - Date.now()) / 86_400_000)).toBe(days)
  })

  test.each([0, 366, 1.5, '7', null])("limits an auditor token's lifetime to null or 1 to 365 whole days: %j", async (days) => {
    expect((await tenant.admin.post('/log/share', { days })).status).toBe(days === null ? 201 : 400)
  })

  test('rejects an auditor token immediately after its revocation or expiry', async () => {
    const { id, reader } = await share()
    expect((await reader.get('/log/checkpoint')).status).toBe(200)
    const revoked = await tenant.admin.delete(`/log/shares/${id}`)
    expect([revoked.status, revoked.body.data.share_id]).toEqual([200, id])
    expect(toStatusAndCode(await reader.get('/log/checkpoint'))).toEqual([401, 'unauthenticated'])
    expect(toStatusAndCode(await tenant.admin.delete(`/log/shares/${id}`))).toEqual([404, 'not_found'])
    const late = await share()
    await world.database.pool.query("UPDATE log_shares SET expires_at = now() - interval '1 second' WHERE share_id = $1", [
      late.id,
    ])
    expect(toStatusAndCode(await late.reader.get('/log/checkpoint'))).toEqual([401, 'unauthenticated'])
  })

  test('rejects an auditor token if any of its parts comes from another token', async () => {
    const other = await world.createTenant()
    const foreign = (await other.admin.post('/log/share', {})).body.data.token as string
    const own = (await share()).reader.credential!
    const [, tenantPart, sharePart] = own.split('_', 3) as [string, string, string]
    const [, theirTenant, theirShare] = foreign.split('_', 3) as [string, string, string]
    const secret = own.slice(`log_${tenantPart}_${sharePart}_`.length)
    const forged = [
      `log_${theirTenant}_${sharePart}_${secret}`,
      `log_${theirTenant}_${theirShare}_${secret}`,
      `log_${tenantPart}_${theirShare}_${secret}`,
      `log_${tenantPart}_${sharePart}_${'A'.repeat(43)}`,
      own.slice(0, -1),
      `${own}A`,
      own.toUpperCase(),
      'log_',
      `log_${"'".repeat(26)}_${sharePart}_${secret}`,
    ]
    for (const token of forged)
      expect([token, ...toStatusAndCode(await world.createCaller(token).get('/log/checkpoint'))]).toEqual([
        token,
        401,
        'unauthenticated',
      ])
    // An auditor token and an API key do not grant each other's permissions.
    const both = await exchange(
      world.url,
      [
        'GET /api/v1/log/checkpoint HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${own}`,
        `Authorization: Bearer ${foreign}`,
        'Connection: close',
        '',
        '',
      ].join('\r\n'),
    )
    expect(both.status).toBe(401)
  })

  test('rejects an auditor token of a suspended tenant', async () => {
    const other = await world.createTenant()
    const reader = world.createCaller((await other.admin.post('/log/share', {})).body.data.token)
    expect((await reader.get('/log/checkpoint')).status).toBe(200)
    await world.app.services.tenants.suspend(other.tenantId)
    expect(toStatusAndCode(await reader.get('/log/checkpoint'))).toEqual([403, 'forbidden'])
  })

  test('limits a tenant to 100 unexpired auditor tokens', async () => {
    const other = await world.createTenant()
    const fill = `INSERT INTO log_shares SELECT $1, 'shr_' || lpad(n::text, 26, '0'), '\\x00', 'key_x', now(), now() + $2::interval
      FROM generate_series(1, 100) n ON CONFLICT (tenant_id, share_id) DO UPDATE SET expires_at = excluded.expires_at`
    await world.database.pool.query(fill, [other.tenantId, '1 day'])
    expect(toStatusAndCode(await other.admin.post('/log/share', {}))).toEqual([409, 'conflict'])
    await world.database.pool.query(fill, [other.tenantId, '-1 day'])
    expect((await other.admin.post('/log/share', {})).status).toBe(201)
    expect((await other.admin.get('/log/shares')).body.data.pagination.total_items).toBe(1)
  })

  test('creates, lists and revokes auditor tokens over GraphQL', async () => {
    const created = await tenant.admin.graphql('mutation { shareLog(days: 3) { shareId token expiresAt } }')
    const { shareId, token } = created.body.data.shareLog
    expect((await world.createCaller(token).get('/log/key')).status).toBe(200)
    const listed = await tenant.admin.graphql('{ logShares(pageSize: 1) { data { shareId } } }')
    expect(listed.body.data.logShares.data).toEqual([{ shareId }])
    await tenant.admin.graphql('mutation ($id: ID!) { revokeLogShare(shareId: $id) { shareId } }', { id: shareId })
    expect((await world.createCaller(token).get('/log/key')).status).toBe(401)
  })
})
