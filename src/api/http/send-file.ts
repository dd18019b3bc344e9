import fs from 'node:fs'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { megabyte } from '../../platform/units.js'

const [open, read, fstat, close] = [promisify(fs.open), promisify(fs.read), promisify(fs.fstat), promisify(fs.close)]

/** Up to here a file is one read, and its buffer is left to the collector. */
const readWhole = 64 * 1024
/** Read ahead of each client, however slow it is. */
const blockBytes = 256 * 1024
const maxKeptBlocks = (8 * megabyte) / blockBytes

/** Blocks that no download uses: fresh ones would make a full collection for every hundred downloads of a megabyte. */
const free: Buffer[] = []

export class WrongSize extends Error {
  override readonly name = 'WrongSize'
}

/**
 * Sends the whole file, which has `size` bytes. Calls `begin` after the file was opened and before the first byte. Throws errors of the file
 * system throws, and `WrongSize`, before the first byte. Later errors and disconnects end the response.
 */
export async function sendWholeFile(
  response: ServerResponse,
  { path, size }: { path: string; size: number },
  begin: () => Promise<void>,
): Promise<void> {
  if (size <= readWhole) {
    const bytes = await readSmall(path, size)
    await begin()
    response.end(bytes)
    return
  }
  const file = await open(path, 'r')
  try {
    const facts = await fstat(file)
    if (facts.size !== size) throw new WrongSize(`${facts.size} of ${size} bytes are there`)
    await begin()
    await sendBlocks(response, file, size)
  } finally {
    await close(file)
  }
}

async function readSmall(path: string, size: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    // A byte more is asked for, so that a file that has grown is seen.
    const bytes = Buffer.allocUnsafe(size + 1)
    const { bytesRead } = await read(file, bytes, 0, size + 1, 0)
    if (bytesRead !== size) throw new WrongSize(`${bytesRead} of ${size} bytes are there`)
    return bytes.subarray(0, size)
  } finally {
    // Here, and not by another thread: it waits for no disk, and a thread's turn costs more than all the rest of it.
    fs.closeSync(file)
  }
}

async function sendBlocks(response: ServerResponse, file: number, size: number): Promise<void> {
  const block = free.pop() ?? Buffer.allocUnsafeSlow(blockBytes)
  const send = sender(response)
  for (let at = 0; at < size; ) {
    const { bytesRead } = await read(file, block, 0, Math.min(blockBytes, size - at), at).catch(() => ({ bytesRead: 0 }))
    at += bytesRead
    if (bytesRead === 0) response.destroy()
    // After a disconnect, the system may still read the block, so it is not reused.
    if (response.destroyed || !(await send(block.subarray(0, bytesRead), at === size))) return
  }
  if (free.length < maxKeptBlocks) free.push(block)
}

/** Sends a chunk. Resolves to true once the system has accepted it, and to false if the client disconnected. */
function sender(response: ServerResponse): (chunk: Buffer, isLast: boolean) => Promise<boolean> {
  let settle: (taken: boolean) => void = () => {}
  response.once('close', () => settle(false))
  return (chunk, isLast) =>
    new Promise((resolve) => {
      settle = resolve
      if (isLast) response.end(chunk, () => resolve(true))
      else response.write(chunk, (error) => resolve(!error))
    })
}
