import type { Worker } from 'node:cluster'

/** Internal message of `node:cluster` that passes a connection to a process, or acknowledges it. */
interface ConnectionMessage {
  act?: string
  seq?: number
  ack?: number
}

/**
 * If a process exits before it accepts a connection that it received, passes the connection to another process. Otherwise, the
 * client would wait forever. Node.js has no event for this, so this function replaces `process.send`.
 * test/faults/processes.test.ts fails if a new version of Node.js behaves differently.
 */
export function forwardConnections(worker: Worker, hasOtherProcesses: () => boolean): void {
  const pending = new Map<number, { close: () => void }>()
  const { process } = worker
  const send = process.send.bind(process) as (...all: unknown[]) => boolean
  process.send = (message: ConnectionMessage, handle?: unknown, ...rest: unknown[]) => {
    if (message.act === 'newconn' && handle) pending.set(message.seq!, handle as { close: () => void })
    return send(message, handle, ...rest)
  }
  process.on('internalMessage', ({ ack }: ConnectionMessage) => pending.delete(ack!))
  // When this event is emitted, all acknowledgements from the process have been read. The connections that are still pending were
  // not accepted.
  process.once('close', () => {
    // Emit this event, because Node.js does not do so if the process exits while it receives a connection.
    process.emit('disconnect')
    for (const [ack, handle] of pending) {
      if (hasOtherProcesses()) process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false }, undefined)
      else handle.close()
    }
  })
}
