// Attackers guess upload link tokens, exceed a link's file limit, flood a link with rejected files, and misuse its token.
// Another client of the tenant uploads through its own links.
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { sendRequest, startAttackedService } from '../../support/attacked-service.mjs'

export const name = 'Guessed, shared and misused tokens of upload links'

const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']
const guessSeconds = 15
const rounds = 10
const parallel = 50

export async function run() {
  const attacked = await startAttackedService()
  const { port, attackerKey: key } = attacked
  const base = `http://127.0.0.1:${port}`
  const callApi = (path, options) => sendRequest(`${base}/api/v1${path}`, key, options)
  const create = async (more = {}) =>
    (await callApi('/upload-links', { method: 'POST', body: { context: 'notes', ...more } })).body.data
  const get = async ({ link_id: id }) => (await callApi(`/upload-links/${id}`)).body.data
  try {
    const rules = { context_key: 'notes', display_name: 'Notes', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    await callApi('/contexts', { method: 'POST', body: rules })
    const guessing = await guessTokens({ base, create })
    const racing = await raceForLastFile({ create, get })
    const flooding = await floodWithUploads({ create, get })
    const misusing = await misuseToken({ base, create, get })
    const output = attacked.service.output()
    const tokens = [...guessing.urls, ...racing.urls, ...flooding.urls, ...misusing.urls].map((url) => url.slice(-43))
    return {
      figures: [
        { name: 'guessed tokens that were accepted', value: guessing.accepted, max: 0 },
        { name: 'different responses to invalid tokens', value: guessing.responses.size, max: 1 },
        { name: 'uploads of valid links that failed during the guesses', value: guessing.failedUploads, max: 0 },
        { name: `files beyond max_files, ${rounds} × ${parallel} parallel uploads`, value: racing.excess, max: 0 },
        { name: 'rejected files that were counted before the link was revoked', value: flooding.counted, max: 20 + parallel },
        { name: 'requests that a token authenticated outside of its paths', value: misusing.accepted, max: 0 },
        { name: 'files outside of the rules of the context', value: misusing.stored, max: 0 },
        { name: 'tokens in the output of the service', value: tokens.filter((token) => output.includes(token)).length, max: 0 },
      ],
      notes: [`In ${guessSeconds} s: ${JSON.stringify(guessing.statuses)}`],
    }
  } finally {
    await attacked.stop()
  }
}

/** Guesses the secret of a link whose tenant and link ID are known. */
async function guessTokens({ base, create }) {
  const { url } = await create()
  const result = { accepted: 0, failedUploads: 0, statuses: {}, responses: new Set(), urls: [url] }
  const end = performance.now() + guessSeconds * 1000
  const isOver = () => performance.now() > end
  const path = new URL(url).pathname.slice(0, -43)
  await Promise.all([
    ...addresses.flatMap((localAddress) =>
      Array.from({ length: 8 }, async () => {
        while (!isOver()) {
          const response = await sendFrom(base + path + randomBytes(32).toString('base64url'), { localAddress })
          result.statuses[response.status] = (result.statuses[response.status] ?? 0) + 1
          if (response.status === 404) result.responses.add(response.comparable)
          else if (response.status !== 429) result.accepted++
        }
      }),
    ),
    (async () => {
      while (!isOver()) {
        const link = await create()
        result.urls.push(link.url)
        // Uploads from the attackers' address because users may share an address with attackers.
        const { status } = await sendFrom(`${link.url}/a.txt`, { method: 'PUT', body: 'hello', localAddress: addresses[0] })
        if (status !== 201) result.failedUploads++
      }
    })(),
  ])
  return result
}

async function raceForLastFile({ create, get }) {
  let excess = 0
  const urls = []
  for (let round = 0; round < rounds; round++) {
    const link = await create()
    urls.push(link.url)
    const uploads = Array.from({ length: parallel }, (_, n) =>
      sendFrom(`${link.url}/${n}.txt`, { method: 'PUT', body: `file ${n}` }),
    )
    const stored = (await Promise.all(uploads)).filter(({ status }) => status === 201).length
    excess += Math.max(stored, (await get(link)).accepted_files) - 1
  }
  return { excess, urls }
}

async function floodWithUploads({ create, get }) {
  const link = await create()
  for (let round = 0; round < 10; round++)
    await Promise.all(Array.from({ length: parallel }, () => sendFrom(`${link.url}/a.txt`, { method: 'PUT', body: ' ' })))
  const { rejected_files: counted, status } = await get(link)
  return { counted: status === 'revoked' ? counted : Number.POSITIVE_INFINITY, urls: [link.url] }
}

/** Sends the token as an API key and in the paths of other endpoints, and uploads files that the context forbids. */
async function misuseToken({ base, create, get }) {
  const link = await create({ max_files: 5 })
  const token = new URL(link.url).pathname.split('/')[2]
  const paths = [
    '/api/v1/files',
    '/api/v1/upload-links',
    `/api/v1/upload-links/${link.link_id}`,
    '/api/v1/contexts',
    '/api/v1/events',
  ]
  const responses = [
    ...paths.map((path) => sendFrom(base + path, { headers: { authorization: `Bearer ${token}` } })),
    ...[`/api/v1/upload/${token}`, `//upload/${token}`, `/UPLOAD/${token}`, `/upload/${token}/`].map((path) =>
      sendFrom(base + path),
    ),
    sendFrom(`${base}/upload/${token}/tus`, { method: 'DELETE' }),
  ]
  const accepted = (await Promise.all(responses)).filter(({ status }) => status < 400).length
  const form = new FormData()
  form.append('context', 'another')
  form.append('file', new Blob(['hello']), 'a.txt')
  await Promise.all([
    sendFrom(`${link.url}/a.exe`, { method: 'PUT', body: 'hello' }),
    sendFrom(`${link.url}/big.txt`, { method: 'PUT', body: 'x'.repeat(1_048_577) }),
    sendFrom(`${link.url}/..%2f..%2fa.txt%00.exe`, { method: 'PUT', body: 'hello' }),
    fetch(link.url, { method: 'POST', body: form }),
  ])
  return { accepted, stored: (await get(link)).accepted_files, urls: [link.url] }
}

/** Sends a request from a given loopback address. `comparable` is the response without request ID and time. */
function sendFrom(url, { method = 'GET', headers = {}, body, localAddress } = {}) {
  return new Promise((resolve, reject) => {
    const options = { method, headers: { connection: 'close', ...headers }, localAddress }
    const outgoing = http.request(url, options, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      const { 'x-request-id': _id, date: _date, ...rest } = response.headers
      const content = text.replace(/"(request_id|timestamp)":"[^"]*"/g, '')
      resolve({ status: response.statusCode, comparable: JSON.stringify([rest, content]) })
    })
    // Write errors are expected because the service closes the connection after rejecting a body.
    outgoing.on('error', (error) => (['EPIPE', 'ECONNRESET'].includes(error.code) ? resolve({ status: 499 }) : reject(error)))
    outgoing.end(body)
  })
}
