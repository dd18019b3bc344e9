import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export type ProviderAlgorithm = 'RS256' | 'ES256' | 'EdDSA'

/** Opens an external identity provider that publishes keys and signs test tokens. */
export async function openIdentityProvider() {
  const issuer = 'https://id.example.com/'
  const audience = 'assay-files'
  const keys = Object.fromEntries(
    await Promise.all(
      (['RS256', 'ES256', 'EdDSA'] as const).map(async (alg) => {
        const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
        const kid = `key of ${alg}`
        const jwk: JWK = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }
        return [alg, { kid, privateKey, jwk }] as const
      }),
    ),
  ) as Record<ProviderAlgorithm, { kid: string; privateKey: CryptoKey; jwk: JWK }>
  const state = { down: false, requests: 0 }
  const server = createServer((_request, response) => {
    state.requests++
    if (state.down) return void response.writeHead(503).end()
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ keys: Object.values(keys).map(({ jwk }) => jwk) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`

  return {
    issuer,
    audience,
    url,
    keys,
    state,
    env: { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: url },
    /** Claims override the defaults, and undefined removes a claim. `at` moves the clock by seconds. */
    sign: (claims: JWTPayload, { alg = 'RS256', kid = keys[alg].kid }: { alg?: ProviderAlgorithm; kid?: string } = {}) => {
      const now = Math.floor(Date.now() / 1000)
      const payload = { iss: issuer, aud: audience, sub: 'ada', iat: now, exp: now + 300, ...claims }
      return new SignJWT(JSON.parse(JSON.stringify(payload))).setProtectedHeader({ alg, kid }).sign(keys[alg].privateKey)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
