import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { describeConnectionError, isPublicAddress, OutboundClient } from '../../src/features/webhooks/outbound.js'

let inside: Server
let hits = 0
beforeAll(async () => {
  inside = createServer((_, response) => {
    hits++
    response.end()
  })
  await once(inside.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => new Promise((resolve) => inside.close(resolve)))

const port = () => (inside.address() as AddressInfo).port
const body = Buffer.from('{}')
const soon = () => AbortSignal.timeout(5_000)
const outbound = (...responses: string[][]) => {
  const requested: string[] = []
  const resolve = async (host: string) => {
    requested.push(host)
    return responses.length > 1 ? responses.shift()! : responses[0]!
  }
  return { requested, to: new OutboundClient({ allowPrivate: false, resolve }) }
}

describe('IP addresses', () => {
  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.170',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.7',
    '203.0.113.7',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:10::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '5f00::1',
    'localhost',
    '',
  ])('classifies the IP address %s as not public', (address) => expect(isPublicAddress(address)).toBe(false))

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '172.32.0.1',
    '192.0.1.1',
    '198.20.0.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ])('classifies the IP address %s as public', (address) => expect(isPublicAddress(address)).toBe(true))
})

describe('webhook URLs at creation', () => {
  test.each([
    ['http://hooks.example.com/', 'must be an https: URL of at most 2048 characters'],
    ['https:', 'must be an https: URL of at most 2048 characters'],
    [`https://hooks.example.com/${'x'.repeat(2048)}`, 'must be an https: URL of at most 2048 characters'],
    ['file:///etc/passwd', 'must be an https: URL of at most 2048 characters'],
    ['https://user@hooks.example.com/', 'must not contain credentials, because the signature authenticates the sender'],
    ['https://:secret@hooks.example.com/', 'must not contain credentials, because the signature authenticates the sender'],
    ['https://hooks.example.com/#top', 'must not have a fragment'],
    ['https://127.0.0.1/', 'must resolve to public addresses only'],
    ['https://127.1/', 'must resolve to public addresses only'],
    ['https://0x7f000001/', 'must resolve to public addresses only'],
    ['https://2130706433/', 'must resolve to public addresses only'],
    ['https://0177.0.0.1/', 'must resolve to public addresses only'],
    ['https://[::1]/', 'must resolve to public addresses only'],
    ['https://[::ffff:10.0.0.1]/', 'must resolve to public addresses only'],
    ['https://[64:ff9b::a9fe:a9fe]/latest/meta-data', 'must resolve to public addresses only'],
  ])('rejects the webhook URL %s at creation', async (url, fault) =>
    expect(await outbound(['8.8.8.8']).to.validateUrl(url)).toEqual({ error: fault }),
  )

  test('rejects a webhook host name that does not resolve, or that resolves to at least one internal address', async () => {
    const inside = { error: 'must resolve to public addresses only' }
    expect(await outbound(['10.0.0.1']).to.validateUrl('https://hooks.example.com')).toEqual(inside)
    expect(await outbound(['8.8.8.8', '::1']).to.validateUrl('https://hooks.example.com')).toEqual(inside)
    const url = 'https://hooks.example.com/a?b=c'
    expect(await outbound(['8.8.8.8', '2606:4700::1']).to.validateUrl(url)).toEqual({ url })
    const lost = new OutboundClient({ allowPrivate: false, resolve: () => Promise.reject(new Error('ENOTFOUND')) })
    expect(await lost.validateUrl('https://nowhere.example.com')).toEqual({
      error: "must contain a resolvable host name ('nowhere.example.com' cannot be resolved)",
    })
  })

  test('allows http and private webhook addresses if WEBHOOK_ALLOW_PRIVATE is set', async () => {
    const open = new OutboundClient({ allowPrivate: true })
    expect(await open.validateUrl('http://127.0.0.1:3000/hook')).toEqual({ url: 'http://127.0.0.1:3000/hook' })
    expect(await open.validateUrl('http://u:p@127.0.0.1:3000/hook')).toEqual({ error: expect.stringMatching(/credentials/) })
    expect(await open.validateUrl('ftp://127.0.0.1/')).toEqual({
      error: 'must be an https: or http: URL of at most 2048 characters',
    })
  })

  test.each([
    ['https://8.8.8.8\\@127.0.0.1/', 'https://8.8.8.8/@127.0.0.1/'],
    ['HTTPS://Hooks.Example.COM:443/a/../b', 'https://hooks.example.com/b'],
    ['https:8.8.8.8', 'https://8.8.8.8/'],
    ['https://134744072/?q=é', 'https://8.8.8.8/?q=%C3%A9'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ])('converts the webhook URL %s to the canonical form %s', async (text, url) =>
    expect(await outbound(['8.8.8.8']).to.validateUrl(text)).toEqual({ url }),
  )

  test('rejects a webhook URL whose canonical form is too long', async () => {
    const url = `https://hooks.example.com/${'é'.repeat(1000)}`
    expect(await outbound(['8.8.8.8']).to.validateUrl(url)).toEqual({
      error: 'must be an https: URL of at most 2048 characters',
    })
  })
})

describe('webhook connections', () => {
  test('does not connect to a webhook host that later resolves to an internal address', async () => {
    const { to, requested } = outbound(['8.8.8.8'], ['127.0.0.1'])
    const url = `https://rebind.example.com:${port()}/`
    expect(await to.validateUrl(url)).toEqual({ url })
    const error = await to.post(url, {}, body, soon()).catch((reason) => reason)
    expect(describeConnectionError(error)).toBe('the address is not public')
    expect([requested.length, hits]).toEqual([2, 0])
  })

  test('connects a webhook only to the validated addresses, with one DNS query', async () => {
    // The webhook receiver uses no TLS because the test covers only the connection.
    let requested = 0
    const to = new OutboundClient({
      allowPrivate: true,
      resolve: async () => {
        requested++
        return ['127.0.0.1']
      },
    })
    expect(await to.post(`http://hooks.example.com:${port()}/`, {}, body, soon())).toBe(200)
    expect([requested, hits]).toEqual([1, 1])
    to.close()
  })

  test.each(['https://127.0.0.1', 'https://[::1]', 'https://[::ffff:127.0.0.1]', 'https://0x7f.1', 'http://hooks.example.com'])(
    'does not connect to a stored webhook URL that is forbidden: %s',
    async (origin) => {
      const before = hits
      await expect(outbound(['8.8.8.8']).to.post(`${origin}:${port()}/`, {}, body, soon())).rejects.toMatchObject({
        code: 'PRIVATE_ADDRESS',
      })
      expect(hits).toBe(before)
    },
  )

  test('does not include data from the receiver in a webhook connection error', () => {
    expect(describeConnectionError(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))).toBe('the connection was refused')
    expect(describeConnectionError(Object.assign(new Error('x'), { name: 'AbortError', code: 'ABORT_ERR' }))).toBe(
      'the request timed out',
    )
    expect(describeConnectionError(Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }))).toBe(
      'the connection failed: CERT_HAS_EXPIRED',
    )
    expect(describeConnectionError(new Error('<html>secret</html>'))).toBe('the connection failed')
  })
})

describe('webhook receivers that do not respond', () => {
  const raw = async (connected: (socket: Socket) => void) => {
    const server = createTcpServer((socket) => void socket.on('error', () => {}).once('data', () => connected(socket)))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const to = new OutboundClient({ allowPrivate: true })
    const post = (signal: AbortSignal) => to.post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {}, body, signal)
    const close = () => {
      to.close()
      server.close()
    }
    return { post, close }
  }

  test('closes the connection and reports the status if a webhook receiver responds with 101', async () => {
    let closed: Promise<unknown> | undefined
    const { post, close } = await raw((socket) => {
      closed = once(socket, 'close')
      socket.resume().write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
    expect(await post(soon())).toBe(101)
    await closed
    close()
  })

  test.each([
    ['no bytes', ''],
    ['informational responses only', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['an incomplete head', 'HTTP/1.1 200 OK\r\nA: '],
  ])('reports an aborted webhook delivery as timed out if the receiver sends %s', async (_what, text) => {
    const abort = new AbortController()
    const { post, close } = await raw((socket) => {
      socket.resume().write(text)
      abort.abort()
    })
    expect(describeConnectionError(await post(abort.signal).catch((error) => error))).toBe('the request timed out')
    close()
  })
})
