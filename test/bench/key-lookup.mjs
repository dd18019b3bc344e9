// Measures a cached API key lookup in compiled code: `node test/bench/key-lookup.mjs [keys]`.
import { Authenticator } from '../../dist/access/authenticate.js'
import { hashCredential, IdentityCache } from '../../dist/access/identity-cache.js'
import { openRateLimits } from '../../dist/access/rate-limits.js'
import { generateApiKeySecret } from '../../dist/access/secrets.js'

const keys = Number(process.argv[2] ?? 10_000)
const rounds = 200_000
const targetMicroseconds = 20

let loads = 0
const loadKey = async () => {
  const id = String(loads++)
  const names = { apiKeyId: `key_${id}`, tenantId: 'ten_1', name: `Key ${id}`, scopes: ['upload', 'download'], contexts: null }
  return { ...names, status: 'active', expiresAt: null, tenantStatus: 'active', graceEndsAt: null }
}
const cache = new IdentityCache({
  trust: { isTrusted: () => true },
  idsOf: (key) => [key.apiKeyId, key.tenantId],
  capacity: keys,
})
const findKey = (secret) => cache.get(hashCredential(secret), loadKey)
const secrets = Array.from({ length: keys }, generateApiKeySecret)
for (const secret of secrets) await findKey(secret)

const origin = { ip: '127.0.0.1', userAgent: 'bench' }
const headers = secrets.map((secret) => ['Host', 'localhost', 'User-Agent', 'bench', 'Authorization', `Bearer ${secret}`])
const limits = await openRateLimits({ perMinute: 1e12 })
const authenticator = new Authenticator({ keys: cache, loadApiKey: loadKey, onKeyUsed: () => {} })
const { actor } = await authenticator.authenticate(headers[0], origin)

const results = {
  findKey: await measureMedian((at) => findKey(secrets[at % keys])),
  authenticate: await measureMedian((at) => authenticator.authenticate(headers[at % keys], origin)),
  'limits.countCall': await measureMedian(() => limits.countCall(actor)),
}
await limits.close()
if (loads !== keys) throw new Error(`${loads - keys} of ${3 * rounds} lookups were not cached.`)
for (const [name, microseconds] of Object.entries(results)) console.log(`${name.padEnd(16)} ${microseconds.toFixed(2)} us`)
const ok = results.findKey < targetMicroseconds && results.authenticate < targetMicroseconds
console.log(`${keys} keys, medians of 9; target: a cached lookup under ${targetMicroseconds} us: ${ok ? 'met' : 'MISSED'}`)
process.exitCode = ok ? 0 : 1

async function measureMedian(work) {
  const batch = Math.floor(rounds / 10)
  const medians = []
  for (let run = 0; run < 10; run++) {
    const start = process.hrtime.bigint()
    for (let at = 0; at < batch; at++) await work(at)
    medians.push(Number(process.hrtime.bigint() - start) / batch / 1000)
  }
  // The first measurement is a warm-up.
  return medians.slice(1).sort((one, other) => one - other)[4]
}
