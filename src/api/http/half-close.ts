import type { Socket } from 'node:net'

// Node.js has no documented way to close only our side of a connection after a response with `Connection: close`: it calls
// `socket.destroySoon()`, which closes both. This file is the only one that depends on that call. test/unit/early-answers.test.ts fails
// if Node.js closes the connection in another way.

const halfClosed = new WeakSet<Socket>()

/** Runs `close` instead of Node.js's own close of the connection, after the response is written. */
export function replaceClose(socket: Socket, close: () => void): void {
  socket.destroySoon = () => {
    halfClosed.add(socket)
    close()
  }
}

/** Whether our side of the connection is closed. Further requests on it are not handled. */
export const isHalfClosed = (socket: Socket): boolean => halfClosed.has(socket)
