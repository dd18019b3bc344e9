import { MessageType, parseMessage } from 'graphql-ws'
import type { WebSocket } from 'ws'
import { toAddressGroup } from '../../access/address-group.js'

// Maximum number of unsent bytes per connection. A client that falls further behind is disconnected.
const maxUnsentBytes = 1024 * 1024
// Maximum number of messages, pings and pongs per connection and interval.
const maxMessages = 60
const intervalMs = 12_000
// Close codes from RFC 6455 (section 7.4.1) and the graphql-transport-ws protocol.
export const closeCodes = {
  goingAway: 1001,
  policyViolation: 1008,
  tryAgain: 1013,
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  initTimeout: 4408,
  internal: 4500,
}
const clientMessages: readonly string[] = [
  MessageType.ConnectionInit,
  MessageType.Ping,
  MessageType.Pong,
  MessageType.Subscribe,
  MessageType.Complete,
]

// Maximum length of a close reason. A control frame has at most 125 bytes, including 2 for the code (RFC 6455, section 5.5).
const maxReasonBytes = 123

/** Closes a connection. A long reason is truncated at a character boundary. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  const bytes = Buffer.from(reason).subarray(0, maxReasonBytes)
  socket.close(code, new TextDecoder().decode(bytes, { stream: true }))
}

/** Sends a message and resolves when it is written. Closes the connection if too many bytes are unsent. */
export function sendWithinBufferLimit(socket: WebSocket, text: string): Promise<void> {
  if (socket.bufferedAmount > maxUnsentBytes) socket.terminate()
  return new Promise((resolve) => socket.send(text, () => resolve()))
}

/**
 * Creates a function that forwards the client's messages to a handler. Closes the connection if the client exceeds a limit,
 * violates the protocol, or does not answer a ping within an interval.
 */
export function createMessageLimiter(
  socket: WebSocket,
  slot: WaitingSlot,
  isAuthenticated: () => boolean,
): (handle: (text: string) => void) => void {
  let messages = 0
  let isInitReceived = false
  let isAlive = true
  const countMessage = () => {
    if (socket.readyState !== socket.OPEN) return false
    if (++messages <= maxMessages) return true
    closeSocket(socket, closeCodes.policyViolation, `More than ${maxMessages} messages were received in ${intervalMs / 1000} s.`)
    return false
  }
  const interval = setInterval(() => {
    if (!isAlive) return socket.terminate()
    isAlive = false
    messages = 0
    socket.ping()
  }, intervalMs)
  socket.once('close', () => clearInterval(interval))
  socket.on('pong', () => {
    isAlive = true
    countMessage()
  })
  socket.on('ping', (data) => {
    if (countMessage() && isAuthenticated()) socket.pong(data)
  })
  return (handle) =>
    socket.on('message', (data) => {
      if (!countMessage()) return
      const text = String(data)
      const type = parseMessageType(text)
      if (!type || !clientMessages.includes(type)) return closeSocket(socket, closeCodes.badRequest, 'Invalid message.')
      if (!isAuthenticated() && (isInitReceived || type !== MessageType.ConnectionInit))
        return closeSocket(socket, closeCodes.unauthorized, 'Send connection_init first, and wait for connection_ack.')
      if (!isInitReceived) slot.startChecking()
      isInitReceived = true
      handle(text)
    })
}

function parseMessageType(text: string): string | undefined {
  try {
    return parseMessage(text).type
  } catch {
    return undefined
  }
}

// Limits for sockets without a valid credential, and the time in milliseconds within which a client must authenticate.
const maxUnauthenticated = { total: 256, perAddress: 64 }
const authenticationTimeoutMs = 5_000

interface WaitingSocket {
  address: string
  /** True until the client sends its credential. */
  isIdle: boolean
  drop: () => void
  timer: NodeJS.Timeout
}

/** A slot in the pool of unauthenticated sockets. */
export interface WaitingSlot {
  /** Marks the credential as being checked. From then on, other sockets cannot take over the slot. */
  startChecking(): void
  release(): void
}

/**
 * Limits unauthenticated WebSockets to a small pool, separate from the sockets of subscribers. If the limit for the pool or an
 * address is reached, the oldest idle socket is closed. A client that sends its credential immediately is therefore unlikely to
 * lose its slot.
 */
export class UnauthenticatedSockets {
  readonly #waiting = new Set<WaitingSocket>()

  /**
   * Reserves a slot, or returns undefined if none is available. `onTimeout` is called if the socket does not authenticate in time,
   * and `onDrop` if another socket takes over its slot.
   */
  acquire(ip: string, { onTimeout, onDrop }: { onTimeout: () => void; onDrop: () => void }): WaitingSlot | undefined {
    const address = toAddressGroup(ip)
    const own = [...this.#waiting].filter((each) => each.address === address)
    if (own.length >= maxUnauthenticated.perAddress && !this.#tryDropOldestIdleSocket(own)) return undefined
    if (this.#waiting.size >= maxUnauthenticated.total && !this.#tryDropOldestIdleSocket([...this.#waiting])) return undefined
    const waiting: WaitingSocket = { address, isIdle: true, drop: onDrop, timer: setTimeout(onTimeout, authenticationTimeoutMs) }
    this.#waiting.add(waiting)
    return {
      startChecking: () => {
        waiting.isIdle = false
      },
      release: () => this.#remove(waiting),
    }
  }

  #tryDropOldestIdleSocket(candidates: WaitingSocket[]): boolean {
    const oldest = candidates.find(({ isIdle }) => isIdle)
    if (!oldest) return false
    this.#remove(oldest)
    oldest.drop()
    return true
  }

  #remove(waiting: WaitingSocket): void {
    clearTimeout(waiting.timer)
    this.#waiting.delete(waiting)
  }
}
