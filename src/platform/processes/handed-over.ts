import type { Worker } from 'node:cluster'

/** What `node:cluster` says as it hands a connection to a process, and what the process answers before it uses it. */
interface Handing {
  act?: string
  seq?: number
  ack?: number
}

/**
 * Passes connections that a process had received but not accepted when it ended to another process. Node.js's round robin forgets them
 * open, and their clients would wait forever. node:cluster has no documented event for this, so this file replaces `process.send` and
 * reads internal messages. test/api/processes.test.ts fails if Node.js changes either ("a connection that was handed to one …").
 */
export function passOnWhenEnded(worker: Worker, doOthersServe: () => boolean): void {
  const handed = new Map<number, { close: () => void }>()
  const { process } = worker
  const send = process.send.bind(process) as (...all: unknown[]) => boolean
  process.send = (message: Handing, handle?: unknown, ...rest: unknown[]) => {
    if (message.act === 'newconn' && handle) handed.set(message.seq!, handle as { close: () => void })
    return send(message, handle, ...rest)
  }
  process.on('internalMessage', ({ ack }: Handing) => handed.delete(ack!))
  // All that it had said is read by then, so that what it answered for is not among these.
  process.once('close', () => {
    // Node forgets to say so of one that ends with a connection on its way, and would hand it more.
    process.emit('disconnect')
    for (const [ack, handle] of handed) {
      if (doOthersServe()) process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false }, undefined)
      else handle.close()
    }
  })
}
