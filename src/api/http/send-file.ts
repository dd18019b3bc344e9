import fs from 'node:fs'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { megabyte } from '../../platform/units.js'

const [open, read, fstat, close] = [promisify(fs.open), promisify(fs.read), promisify(fs.fstat), promisify(fs.close)]

/** Maximum size of a file that is read in one step. Each such read allocates a new buffer. */
const maxSingleReadBytes = 64 * 1024
/** Number of bytes that are read at a time for each client. They stay in memory until a slow client has received them. */
const blockBytes = 256 * 1024
const maxFreeBlocks = (8 * megabyte) / blockBytes

/**
 * Reusable blocks. Allocating a new block for each download would cause a full garbage collection for every hundred downloads of
 * 1 MiB.
 */
const freeBlocks: Buffer[] = []

export class SizeMismatchError extends Error {
  override readonly name = 'SizeMismatchError'
}

/**
 * Sends a whole file of `size` bytes. Calls `beginResponse` after opening the file and before sending the first byte. Throws file system
 * errors and `SizeMismatchError` that occur before the first byte. Later errors and disconnects end the response.
 */
export async function sendWholeFile(
  response: ServerResponse,
  { path, size }: { path: string; size: number },
  beginResponse: () => Promise<void>,
): Promise<void> {
  if (size <= maxSingleReadBytes) {
    const bytes = await readSmallFile(path, size)
    await beginResponse()
    response.end(bytes)
    return
  }
  const file = await open(path, 'r')
  try {
    const facts = await fstat(file)
    if (facts.size !== size) throw new SizeMismatchError(`the stored file is ${facts.size} bytes instead of ${size}`)
    await beginResponse()
    await sendBlocks(response, file, size)
  } finally {
    await close(file)
  }
}

async function readSmallFile(path: string, size: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    // Request one extra byte, to detect that the file has grown.
    const bytes = Buffer.allocUnsafe(size + 1)
    const { bytesRead } = await read(file, bytes, 0, size + 1, 0)
    if (bytesRead !== size) throw new SizeMismatchError(`the stored file is ${bytesRead} bytes instead of ${size}`)
    return bytes.subarray(0, size)
  } finally {
    // Close the file synchronously. Closing does not wait for the disk, and an asynchronous close would take longer than the
    // read.
    fs.closeSync(file)
  }
}

async function sendBlocks(response: ServerResponse, descriptor: number, size: number): Promise<void> {
  const block = freeBlocks.pop() ?? Buffer.allocUnsafeSlow(blockBytes)
  const send = createChunkSender(response)
  for (let at = 0; at < size; ) {
    const { bytesRead } = await read(descriptor, block, 0, Math.min(blockBytes, size - at), at).catch(() => ({ bytesRead: 0 }))
    at += bytesRead
    if (bytesRead === 0) response.destroy()
    // After a disconnect, the operating system may still be reading from this block, so the block must not be reused.
    if (response.destroyed || !(await send(block.subarray(0, bytesRead), at === size))) return
  }
  if (freeBlocks.length < maxFreeBlocks) freeBlocks.push(block)
}

/**
 * Creates a function that sends a chunk. Its promise resolves to true once the operating system has accepted the chunk, and to
 * false after a disconnect.
 */
function createChunkSender(response: ServerResponse): (chunk: Buffer, isLast: boolean) => Promise<boolean> {
  let settleWrite: (taken: boolean) => void = () => {}
  response.once('close', () => settleWrite(false))
  return (chunk, isLast) =>
    new Promise((resolve) => {
      settleWrite = resolve
      if (isLast) response.end(chunk, () => resolve(true))
      else response.write(chunk, (error) => resolve(!error))
    })
}
