import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServiceAccount } from './service-account.js'

/** Calls to the Google identity services that need no key file. */
export type IdentityCall = 'metadata' | 'subject' | 'exchange' | 'impersonate' | 'sign'
export type IdentityFault = { kind: 'status'; status: number } | { kind: 'slow'; ms: number } | { kind: 'silent' }

/**
 * An emulator of the metadata server, STS and the IAM credentials service. It accepts only its own tokens and signs with the
 * account's key.
 */
export class GoogleIdentityEmulator {
  readonly calls: IdentityCall[] = []
  /** Subject token accepted from the external provider. Others are rejected. */
  subjectToken = 'subject-1'
  tokenSeconds = 3600
  readonly #faults = new Map<IdentityCall, IdentityFault[]>()
  readonly #exchanged = new Set<string>()
  readonly #tokens = new Set<string>()
  readonly #sockets = new Set<Socket>()
  readonly #waiting = new Set<ServerResponse>()
  readonly #server: http.Server

  private constructor(readonly account: ServiceAccount) {
    this.#server = http.createServer((request, response) => void this.#handleRequest(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(account: ServiceAccount): Promise<GoogleIdentityEmulator> {
    const identity = new GoogleIdentityEmulator(account)
    await new Promise<void>((resolve) => identity.#server.listen(0, '127.0.0.1', resolve))
    return identity
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of requests that have not received a complete response. */
  get waiting(): number {
    return this.#waiting.size
  }

  get signingEndpoint(): string {
    return `http://${this.host}/v1/projects/-/serviceAccounts/`
  }

  readonly knowsToken = (token: string): boolean => this.#tokens.has(token)

  invalidateTokens(): void {
    this.#tokens.clear()
  }

  plan(call: IdentityCall, fault: IdentityFault, times = 1): void {
    this.#faults.set(call, [...(this.#faults.get(call) ?? []), ...Array.from({ length: times }, () => fault)])
  }

  clear(): void {
    this.#faults.clear()
  }

  /** Returns a workload identity federation configuration like `gcloud iam workload-identity-pools create-cred-config`. */
  createFederationConfig(
    source: object,
    { impersonate = true, universe }: { impersonate?: boolean; universe?: string } = {},
  ): object {
    return {
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/tests/providers/tests',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://${this.host}/v1/token`,
      credential_source: source,
      ...(impersonate && {
        service_account_impersonation_url: `${this.signingEndpoint}${this.account.email}:generateAccessToken`,
      }),
      ...(universe && { universe_domain: universe }),
    }
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    const call = getCall(path)
    this.calls.push(call)
    this.#waiting.add(response)
    response.on('close', () => this.#waiting.delete(response))
    const body = Buffer.concat(await request.toArray()).toString()
    const fault = this.#faults.get(call)?.shift()
    if (fault?.kind === 'silent') return
    if (fault?.kind === 'slow') await sleep(fault.ms)
    if (fault?.kind === 'status')
      return sendError(
        response,
        fault.status,
        call === 'sign' ? `Permission 'iam.serviceAccounts.signBlob' denied (as asked).` : 'As asked.',
      )
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const doing: Record<IdentityCall, () => void> = {
      metadata: () => this.#sendMetadata(path, request, response),
      subject: () => void response.end(this.subjectToken),
      exchange: () => {
        const form = new URLSearchParams(body)
        if (form.get('subject_token') !== this.subjectToken)
          return sendJson(response, { error: 'invalid_grant', error_description: 'The subject token is not known.' }, 400)
        sendJson(response, {
          access_token: this.#issueToken(this.#exchanged),
          token_type: 'Bearer',
          expires_in: this.tokenSeconds,
        })
      },
      impersonate: () => {
        if (!this.#exchanged.has(token)) return sendError(response, 401, 'Invalid Credentials')
        const expireTime = new Date(Date.now() + this.tokenSeconds * 1000).toISOString()
        sendJson(response, { accessToken: this.#issueToken(this.#tokens), expireTime })
      },
      sign: () => {
        if (!this.#tokens.has(token)) return sendError(response, 401, 'Invalid Credentials')
        const { payload } = JSON.parse(body) as { payload: string }
        sendJson(response, { keyId: '1', signedBlob: this.account.sign(Buffer.from(payload, 'base64')).toString('base64') })
      },
    }
    doing[call]()
  }

  #sendMetadata(path: string, request: IncomingMessage, response: ServerResponse): void {
    if (request.headers['metadata-flavor'] !== 'Google')
      return void sendError(response, 403, 'Missing Metadata-Flavor:Google header.')
    response.setHeader('Metadata-Flavor', 'Google')
    const name = path.replace(/^\/computeMetadata\/v1\/?/, '')
    if (name === 'instance/service-accounts/default/token')
      return void sendJson(response, {
        access_token: this.#issueToken(this.#tokens),
        expires_in: this.tokenSeconds,
        token_type: 'Bearer',
      })
    if (name === 'instance/service-accounts/default/email') return void response.end(this.account.email)
    if (name === 'instance') return void response.end('service-accounts/')
    sendError(response, 404, 'Not found.')
  }

  #issueToken(to: Set<string>): string {
    const token = `token-${this.calls.length}-${to.size}`
    to.add(token)
    return token
  }
}

function getCall(path: string): IdentityCall {
  if (path.startsWith('/computeMetadata/')) return 'metadata'
  if (path === '/v1/token') return 'exchange'
  if (path.endsWith(':generateAccessToken')) return 'impersonate'
  return path.endsWith(':signBlob') ? 'sign' : 'subject'
}

const sendError = (response: ServerResponse, status: number, message: string) =>
  sendJson(response, { error: { code: status, message, status: 'REFUSED' } }, status)

function sendJson(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
