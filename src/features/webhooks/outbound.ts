import { lookup, Resolver } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

export type Resolve = (host: string) => Promise<string[]>

export interface OutboundOptions {
  /** Value of WEBHOOK_ALLOW_PRIVATE. If true, http URLs and non-public addresses are allowed. */
  allowPrivate: boolean
  resolve?: Resolve
}

const longestUrl = 2048
// The body of a response is not used. A short body is still read to its end, so that the connection can be reused.
const maxBodyBytes = 65_536
const bodyGraceMs = 1_000
const idleMs = 10_000
// Error codes that occur if a server has closed an idle connection.
const idleCloseErrors = new Set(['ECONNRESET', 'EPIPE'])

class PrivateAddress extends Error {
  readonly code = 'PRIVATE_ADDRESS'
}

/** Sends requests to URLs that tenants configured. Connects only to public addresses, and follows no redirects. */
export class OutboundClient {
  readonly #allowPrivate: boolean
  readonly #resolve: Resolve
  readonly #agents = {
    'https:': new https.Agent({ keepAlive: true, timeout: idleMs, maxFreeSockets: 8 }),
    'http:': new http.Agent({ keepAlive: true, timeout: idleMs, maxFreeSockets: 8 }),
  }

  constructor({ allowPrivate, resolve = allowPrivate ? resolveWithHostsFile : resolveWithDns }: OutboundOptions) {
    this.#allowPrivate = allowPrivate
    this.#resolve = resolve
  }

  /**
   * Validates a URL and returns its canonical form, because a URL can be misleading: `https://8.8.8.8\@127.0.0.1/` appears to
   * point to 127.0.0.1 but points to 8.8.8.8. `error` completes a sentence that begins with the field name.
   */
  async validateUrl(text: string): Promise<{ url: string } | { error: string }> {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url || Math.max(text.length, url.href.length) > longestUrl || !this.#allowsProtocol(url))
      return {
        error: `must be ${this.#allowPrivate ? 'an https: or http:' : 'an https:'} URL of at most ${longestUrl} characters`,
      }
    if (url.username || url.password)
      return { error: 'must not contain credentials, because the signature authenticates the sender' }
    if (url.hash) return { error: 'must not have a fragment' }
    try {
      await this.#resolveHost(url.hostname)
      return { url: url.href }
    } catch (error) {
      return {
        error:
          error instanceof PrivateAddress
            ? 'must resolve to public addresses only'
            : `must contain a resolvable host name ('${url.hostname}' cannot be resolved)`,
      }
    }
  }

  /** Sends a POST request and returns the response status. Rejects if no response arrives before `signal` is aborted. */
  async post(target: string, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<number> {
    const url = new URL(target)
    if (!this.#allowsProtocol(url)) throw new PrivateAddress(`${url.protocol} is not allowed`)
    // Node.js calls `lookup` only for host names, so IP addresses must be checked here.
    if (isIP(removeBrackets(url.hostname))) await this.#resolveHost(url.hostname)
    for (;;) {
      const answer = await this.#sendOnce(url, headers, body, signal)
      if (answer !== 'closed while idle') return answer
    }
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  #sendOnce(url: URL, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<number | 'closed while idle'> {
    return new Promise((resolve, reject) => {
      const protocol = url.protocol as 'https:' | 'http:'
      const request = (protocol === 'https:' ? https : http).request(
        url,
        {
          method: 'POST',
          headers: { ...headers, 'content-length': body.length },
          agent: this.#agents[protocol],
          lookup: this.#lookup,
          signal,
        },
        (response) => {
          request.off('close', onClose)
          signal.removeEventListener('abort', onAbort)
          drainResponse(response, () => resolve(response.statusCode!))
        },
      )
      // Without this listener, Node.js reports a response with status 101 only through `close`.
      request.on('upgrade', (response, socket) => {
        socket.destroy()
        resolve(response.statusCode!)
      })
      const onClose = () =>
        reject(Object.assign(new Error('the connection was closed without a response'), { code: 'ECONNRESET' }))
      request.on('close', onClose)
      // Listen for the abort here, because the `signal` option has no effect after the request has lost its connection.
      const onAbort = () => reject(signal.reason)
      signal.addEventListener('abort', onAbort)
      request.on('error', (error: NodeJS.ErrnoException) =>
        request.reusedSocket && idleCloseErrors.has(error.code ?? '') && !signal.aborted
          ? resolve('closed while idle')
          : reject(error),
      )
      request.end(body)
    })
  }

  #allowsProtocol(url: URL): boolean {
    return url.protocol === 'https:' || (this.#allowPrivate && url.protocol === 'http:')
  }

  /** Replaces Node.js's DNS lookup, so that the connection uses the addresses that were checked. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    this.#resolveHost(hostname).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        if (options.all) callback(null, found)
        else callback(null, found[0]!.address, found[0]!.family)
      },
      (error: Error) => callback(error, ''),
    )
  }

  /** Rejects a host if any of its addresses is not public. A name with both public and private addresses indicates an attack. */
  async #resolveHost(hostname: string): Promise<string[]> {
    const host = removeBrackets(hostname)
    const addresses = isIP(host) ? [host] : await this.#resolve(host)
    const inside = this.#allowPrivate ? undefined : addresses.find((address) => !isPublicAddress(address))
    if (inside !== undefined) throw new PrivateAddress(`${host} resolves to ${inside}, which is not a public address`)
    return addresses
  }
}

const removeBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

/**
 * Resolves host names without Node.js's thread pool, which uploads need. A deliberately slow name server would block the pool.
 */
async function resolveWithDns(host: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length === 0) throw (answers[0] as PromiseRejectedResult).reason
  return addresses
}

/**
 * Resolves host names the way the operating system does, including entries in the hosts file. Used if private addresses are
 * allowed, for example in closed networks.
 */
const resolveWithHostsFile = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address)

function drainResponse(response: http.IncomingMessage, done: () => void): void {
  let bytes = 0
  const timer = setTimeout(() => response.destroy(), bodyGraceMs)
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBodyBytes) response.destroy()
  })
  response.on('error', () => {})
  response.on('close', () => {
    clearTimeout(timer)
    done()
  })
}

const messages: Record<string, string> = {
  PRIVATE_ADDRESS: 'the address is not public',
  ENOTFOUND: 'the host was not found',
  ENODATA: 'the host was not found',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the host is unreachable',
  ETIMEDOUT: 'the host does not respond',
}

/** Describes a connection error in a few words, without data from the remote server. */
export function describeConnectionError(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  if (name === 'AbortError' || name === 'TimeoutError') return 'the request timed out'
  return (
    messages[String(code)] ??
    (/^[A-Z0-9_]{1,60}$/.test(String(code)) ? `the connection failed: ${code}` : 'the connection failed')
  )
}

/** Networks in the IANA special-purpose registries, such as private and reserved ones. */
const special = new BlockList()
for (const network of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
])
  addNetwork(special, network)

// Range of all public IPv6 addresses. It also includes 6to4 and Teredo addresses, which `special` excludes.
const allocatedRange = new BlockList()
addNetwork(allocatedRange, '2000::/3')

/** Returns true if the address is reachable from the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  // An address with a zone index is link-local, so it is not public.
  return family === 6 && !address.includes('%') && allocatedRange.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

function addNetwork(list: BlockList, network: string): void {
  const [address, prefix] = network.split('/') as [string, string]
  list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
