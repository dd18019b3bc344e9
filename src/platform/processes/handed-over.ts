import type { Worker } from 'node:cluster'

/** What `node:cluster` says as it hands a connection to a process, and what the process answers before it uses it. */
interface Handing {
  act?: string
  seq?: number
  ack?: number
}

/**
 * Has the connections that a process was handed, and had not taken when it ended, served by another. Node's round robin
 * forgets them, still open: their clients would wait for ever.
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
