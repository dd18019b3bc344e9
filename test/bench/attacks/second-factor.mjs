// Simulates an attacker who knows a password and guesses second-factor codes from five addresses.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import { startMonitoredService } from '../../support/monitored-service.mjs'
import { findFreePort } from '../support/service.mjs'

export const name = 'Guessed codes of a second factor, from five addresses'

const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']
const attackSeconds = 20
const user = { email: 'victim@example.com', password: randomBytes(12).toString('base64url') }

export async function run() {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-attack-'))
  const port = String(await findFreePort())
  const service = await startMonitoredService({
    DATA_DIR: dataDir,
    PORT: port,
    BOOTSTRAP_ADMIN_EMAIL: user.email,
    BOOTSTRAP_ADMIN_PASSWORD: user.password,
  })
  try {
    return await measure(createClient(Number(port)))
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measure(client) {
  const signIn = (code, address) => client(signInDocument, { ...user, code }, { address })
  const { data } = await signIn(null, '127.0.0.1')
  const { token } = data.signIn
  const started = await client(beginDocument, { password: user.password }, { token })
  const totp = new TOTP({ secret: started.data.beginSecondFactor.secret })
  await client(confirmDocument, { code: totp.generate() }, { token })

  const guesses = { checked: 0, locked: 0, slowedDown: 0 }
  let longestLock = 0
  let rejectedSession = 0
  const recordResponse = ({ errors }) => {
    const { code, details } = errors[0].extensions
    const isLocked = details.second_factor === 'locked'
    if (isLocked) longestLock = Math.max(longestLock, details.retry_after ?? Number.POSITIVE_INFINITY)
    if (isLocked) guesses.locked++
    else if (code === 'RATE_LIMITED') guesses.slowedDown++
    else guesses.checked++
  }
  const start = performance.now()
  const isOver = () => performance.now() - start > attackSeconds * 1000
  const guessCode = () => String(Math.floor(Math.random() * 1e6)).padStart(6, '0')
  await Promise.all([
    ...addresses.flatMap((address) =>
      Array.from({ length: 8 }, async () => {
        while (!isOver()) recordResponse(await signIn(guessCode(), address))
      }),
    ),
    (async () => {
      while (!isOver()) recordResponse(await client(removeDocument, { code: guessCode() }, { token }))
    })(),
    (async () => {
      while (!isOver()) if ((await client('{ contexts { data { contextKey } } }', {}, { token })).errors) rejectedSession++
    })(),
  ])
  const seconds = Math.max((performance.now() - start) / 1000, longestLock)
  // Uses the code of the next time step because the current code may have enabled the second factor.
  const right = await signIn(totp.generate({ timestamp: Date.now() + 30_000 }), addresses[0])
  return {
    figures: [
      { name: 'checked guesses per hour', value: (guesses.checked * 3600) / seconds, max: 10 },
      { name: 'accepted right codes after the guesses', value: right.errors ? 0 : 1, max: 0 },
      { name: 'rejected calls of an open session of the user', value: rejectedSession, max: 0 },
    ],
    notes: [`In ${attackSeconds} s: ${JSON.stringify(guesses)}; longest lock ${longestLock} s`],
  }
}

const signInDocument =
  'mutation ($email: String!, $password: String!, $code: String) { signIn(email: $email, password: $password, code: $code) { token } }'
const beginDocument = 'mutation ($password: String!) { beginSecondFactor(password: $password) { secret } }'
const confirmDocument = 'mutation ($code: String!) { confirmSecondFactor(code: $code) { recoveryCodes } }'
const removeDocument = 'mutation ($code: String!) { removeSecondFactor(code: $code) }'

/** Creates a GraphQL client that connects from a given loopback address. */
const createClient =
  (port) =>
  (query, variables, { token, address }) =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
      const options = { port, host: '127.0.0.1', path: '/graphql', method: 'POST', headers, localAddress: address }
      const outgoing = http.request(options, async (response) => {
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        resolve(JSON.parse(text))
      })
      outgoing.on('error', reject).end(JSON.stringify({ query, variables }))
    })
