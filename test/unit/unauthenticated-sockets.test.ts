import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { WebSocket } from 'ws'
import { createMessageLimiter, sendWithinBufferLimit, UnauthenticatedSockets } from '../../src/api/http/socket-limits.js'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

describe('pool of unauthenticated sockets', () => {
  const enter = (pool: UnauthenticatedSockets, ip: string) => {
    const socket = { onTimeout: jest.fn(), onDrop: jest.fn() }
    return { ...socket, place: pool.acquire(ip, socket) }
  }

  test('drops the oldest idle unauthenticated socket of an IP address that exceeds its share', () => {
    const pool = new UnauthenticatedSockets()
    const elsewhere = enter(pool, '192.0.2.2')
    const sockets = Array.from({ length: 65 }, () => enter(pool, '192.0.2.1'))
    expect(sockets.map(({ onDrop }) => onDrop.mock.calls.length)).toEqual([1, ...Array(64).fill(0)])
    expect(elsewhere.onDrop).not.toHaveBeenCalled()
  })

  test('drops the oldest idle unauthenticated socket across all IP addresses if the pool is full', () => {
    const pool = new UnauthenticatedSockets()
    const sockets = Array.from({ length: 257 }, (_, at) => enter(pool, `192.0.2.${at % 16}`))
    expect(sockets.map(({ onDrop }) => onDrop.mock.calls.length)).toEqual([1, ...Array(256).fill(0)])
  })

  test('keeps an unauthenticated socket open while its credential is being validated', () => {
    const pool = new UnauthenticatedSockets()
    const sockets = Array.from({ length: 64 }, () => enter(pool, '192.0.2.1'))
    for (const { place } of sockets) place!.startChecking()
    expect(enter(pool, '192.0.2.1').place).toBeUndefined()
    sockets[9]!.place!.release()
    expect(enter(pool, '192.0.2.1').place).toBeDefined()
    expect(sockets.every(({ onDrop }) => onDrop.mock.calls.length === 0)).toBe(true)
  })

  test('times out an unauthenticated socket after five seconds, even while its credential is being validated', () => {
    const pool = new UnauthenticatedSockets()
    const [checking, remaining] = [enter(pool, '192.0.2.1'), enter(pool, '192.0.2.1')]
    checking.place!.startChecking()
    remaining.place!.release()
    jest.advanceTimersByTime(4_999)
    expect(checking.onTimeout).not.toHaveBeenCalled()
    jest.advanceTimersByTime(1)
    expect(checking.onTimeout).toHaveBeenCalledTimes(1)
    expect(remaining.onTimeout).not.toHaveBeenCalled()
  })
})

describe('individual WebSocket connections', () => {
  class FakeSocket extends EventEmitter {
    readonly OPEN = 1
    readyState = 1
    bufferedAmount = 0
    terminate = jest.fn()
    ping = jest.fn()
    pong = jest.fn()
    close = jest.fn((_code: number, _reason: string) => {
      this.readyState = 2
    })
    send = jest.fn((_text: string, written: () => void) => written())
  }
  const place = { startChecking: () => {}, release: () => {} }
  const limited = () => {
    const socket = new FakeSocket()
    createMessageLimiter(socket as unknown as WebSocket, place, () => true)(() => {})
    return socket
  }

  test('closes a WebSocket connection if its client does not read', async () => {
    const socket = new FakeSocket()
    await sendWithinBufferLimit(socket as unknown as WebSocket, 'text')
    expect(socket.terminate).not.toHaveBeenCalled()
    socket.bufferedAmount = 1024 * 1024 + 1
    await sendWithinBufferLimit(socket as unknown as WebSocket, 'text')
    expect(socket.terminate).toHaveBeenCalledTimes(1)
  })

  test('accepts 60 WebSocket messages and ping frames in each interval', () => {
    const socket = limited()
    for (let interval = 0; interval < 2; interval++) {
      for (let message = 0; message < 30; message++) {
        socket.emit('message', '{"type":"ping"}')
        socket.emit('ping', Buffer.from('data'))
      }
      expect(socket.close).not.toHaveBeenCalled()
      expect(socket.pong).toHaveBeenCalledTimes(30 * (interval + 1))
      if (interval === 0) jest.advanceTimersByTime(12_000)
    }
    socket.emit('ping', Buffer.from('data'))
    expect(socket.close).toHaveBeenCalledWith(1008, 'More than 60 messages were received in 12 s.')
    expect(socket.pong).toHaveBeenCalledTimes(60)
  })

  test('closes a WebSocket connection if its client does not respond to a ping in time', () => {
    const [silent, alive] = [limited(), limited()]
    jest.advanceTimersByTime(12_000)
    alive.emit('pong')
    jest.advanceTimersByTime(12_000)
    expect(silent.terminate).toHaveBeenCalledTimes(1)
    expect(alive.terminate).not.toHaveBeenCalled()
    for (const socket of [silent, alive]) socket.emit('close')
  })
})
