import { describe, expect, test } from '@jest/globals'
import { newId } from '../../src/platform/ids.js'
import type { SigningSecret } from '../../src/platform/signing-keys.js'
import { DownloadUrls } from '../../src/platform/storage/signed-url.js'

const key = (id: string, fill: number): SigningSecret => ({ id, secret: Buffer.alloc(32, fill) })

/** Returns keys as stored in the database. The last key signs and all keys verify. */
function createKeyRing(...keys: SigningSecret[]) {
  return {
    keys,
    getCurrentKey: async () => keys.at(-1) as SigningSecret,
    findKey: async (id: string) => keys.find((each) => each.id === id),
  }
}

const [fileId, tenantId, by] = [newId('file'), newId('ten'), newId('key')]

async function signed(urls: DownloadUrls, seconds = 300, once = false) {
  const url = new URL(await urls.sign({ tenantId, fileId, by, once, expiresInSeconds: seconds }))
  return { url, query: Object.fromEntries(url.searchParams) as Record<string, string> }
}

describe('local download URLs', () => {
  test('includes the base URL, the file and the expiry in a download URL', async () => {
    const { url, query } = await signed(new DownloadUrls('https://files.example/base/', createKeyRing(key('sig_1', 1))))
    expect(url.origin + url.pathname).toBe(`https://files.example/base/download/${fileId}`)
    expect(Object.keys(query)).toEqual(['expires', 'tenant', 'by', 'key', 'signature'])
    const remaining = Number(query.expires) - Date.now() / 1000
    expect(remaining).toBeGreaterThan(295)
    expect(remaining).toBeLessThanOrEqual(301)
  })

  test('verifies a download URL by its signature', async () => {
    const urls = new DownloadUrls('http://localhost', createKeyRing(key('sig_1', 1)))
    const { query } = await signed(urls)
    expect(await urls.verify(fileId, query)).toEqual({
      tenantId,
      fileId,
      by,
      nonce: undefined,
      expires: new Date(Number(query.expires) * 1000),
    })
  })

  test('accepts a download URL until its retired signing key is deleted', async () => {
    const keys = createKeyRing(key('sig_1', 1))
    const urls = new DownloadUrls('http://localhost', keys)
    const { query } = await signed(urls)
    keys.keys.push(key('sig_2', 2))
    expect(await urls.verify(fileId, query)).toMatchObject({ fileId })
    expect((await signed(urls)).query.key).toBe('sig_2')
    keys.keys.shift()
    expect(await urls.verify(fileId, query)).toBe('invalid')
  })

  test('rejects an expired download URL', async () => {
    const urls = new DownloadUrls('http://localhost', createKeyRing(key('sig_1', 1)))
    expect(await urls.verify(fileId, (await signed(urls, -10)).query)).toBe('expired')
  })

  test('rejects a download URL if any part is changed, omitted or repeated', async () => {
    const urls = new DownloadUrls('http://localhost', createKeyRing(key('sig_1', 1), key('sig_2', 2)))
    const { query } = await signed(urls)
    const signature = query.signature as string
    const last = signature.at(-1) as string
    // Verification must include the last two bits, which decoding ignores.
    const otherTenant = String.fromCharCode(last.charCodeAt(0) + (/[Z9z]/.test(last) ? -1 : 1))
    const changed: Record<string, unknown>[] = [
      { ...query, expires: String(Number(query.expires) + 1) },
      { ...query, expires: `0${query.expires}` },
      { ...query, expires: `${query.expires}.0` },
      { ...query, expires: undefined },
      { ...query, expires: [query.expires, query.expires] },
      { ...query, tenant: newId('ten') },
      { ...query, tenant: undefined },
      { ...query, by: newId('key') },
      { ...query, by: tenantId },
      { ...query, by: undefined },
      { ...query, once: 'x'.repeat(22) },
      { ...query, key: 'sig_1' },
      { ...query, key: 'sig_3' },
      { ...query, key: undefined },
      { ...query, signature: undefined },
      { ...query, signature: '' },
      { ...query, signature: `${signature}=` },
      { ...query, signature: signature.slice(0, -1) + otherTenant },
      { ...query, signature: [signature] },
    ]
    for (const attempt of changed) expect(await urls.verify(fileId, attempt)).toBe('invalid')
    expect(await urls.verify(newId('file'), query)).toBe('invalid')
    expect(await urls.verify('../../etc/passwd', query)).toBe('invalid')
    expect(await urls.verify(fileId, query)).toMatchObject({ fileId })
  })

  test('signs the `once` parameter of a single-use download URL', async () => {
    const urls = new DownloadUrls('http://localhost', createKeyRing(key('sig_1', 1)))
    const [one, other] = [(await signed(urls, 300, true)).query, (await signed(urls, 300, true)).query]
    expect(await urls.verify(fileId, one)).toMatchObject({ nonce: one.once })
    expect(one.once).not.toBe(other.once)
    for (const once of [undefined, other.once, '', [one.once]])
      expect(await urls.verify(fileId, { ...one, once })).toBe('invalid')
  })
})
