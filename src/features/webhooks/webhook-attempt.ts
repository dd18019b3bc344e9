import { createHmac, randomBytes } from 'node:crypto'
import { now } from '../../platform/clock.js'
import { describeConnectionError, type OutboundClient } from './outbound.js'

export interface Attempt {
  responseStatus: number | null
  error: string | null
  durationMs: number
  attemptedAt: Date
}

const responseTimeoutMs = 15_000

export const isSuccessful = ({ responseStatus }: Attempt): boolean =>
  responseStatus !== null && responseStatus >= 200 && responseStatus < 300

/** Sends one event, signed according to Standard Webhooks (https://www.standardwebhooks.com). Never rejects. */
export async function attemptDelivery(
  outbound: OutboundClient,
  { url, secrets, signal }: { url: string; secrets: readonly string[]; signal?: AbortSignal },
  { eventId, body }: { eventId: string; body: Buffer },
): Promise<Attempt> {
  const began = performance.now()
  const attemptedAt = new Date(now())
  const timestamp = Math.floor(attemptedAt.getTime() / 1000)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Assay-Webhooks/1',
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signEvent(secrets, { id: eventId, timestamp, body }),
  }
  const ending = new AbortController()
  const abortRequest = () => ending.abort()
  const timer = setTimeout(abortRequest, responseTimeoutMs)
  signal?.addEventListener('abort', abortRequest)
  if (signal?.aborted) abortRequest()
  const toAttempt = (result: Pick<Attempt, 'responseStatus' | 'error'>): Attempt => ({
    ...result,
    durationMs: Math.round(performance.now() - began),
    attemptedAt,
  })
  try {
    const status = await outbound.post(url, headers, body, ending.signal)
    return toAttempt({ responseStatus: status, error: getStatusError(status) })
  } catch (error) {
    return toAttempt({ responseStatus: null, error: describeConnectionError(error) })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abortRequest)
  }
}

function getStatusError(status: number): string | null {
  if (status === 101) return 'protocol upgrades are not supported'
  return status >= 300 && status < 400 ? 'redirects are not followed' : null
}

const prefix = 'whsec_'

/** Creates a secret in the format of Standard Webhooks, with 256 random bits. */
export const createWebhookSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** Returns the value of the `webhook-signature` header: one signature per secret, starting with the current secret. */
function signEvent(secrets: readonly string[], { id, timestamp, body }: { id: string; timestamp: number; body: Buffer }) {
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      return `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')
}
