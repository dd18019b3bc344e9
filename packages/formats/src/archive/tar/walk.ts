import { createDamageError, createMaliciousError, type FormatError, quoteName } from '../../format-error.js'
import { type ByteStream, IteratorStream } from '../byte-stream.js'
import { hasValidTarChecksum, isZeroBlock, readTarHeader, type TarHeader, tarBlock } from './header.js'
import { applyPaxRecords, type PaxRecords, parsePaxRecords } from './pax.js'

// Maximum size of long names and extended headers, which are read into memory. Most of them are only a few hundred bytes long.
const maxExtensionBytes = 1024 * 1024

export interface TarHandlers {
  step(): void
  onMember(header: TarHeader): void
  onData(header: TarHeader, data: ByteStream): Promise<void>
  /**
   * Receives errors that GNU tar tolerates. Reading continues unless the handler throws. Without a handler, the errors are
   * thrown.
   */
  onError?(error: FormatError): void
}

interface PendingExtensions {
  pax: PaxRecords
  longName?: string
  longLink?: string
}

export async function walkTar(stream: ByteStream, handlers: TarHandlers): Promise<void> {
  const globalRecords: PaxRecords = new Map()
  let pending: PendingExtensions = { pax: new Map() }
  for (let first = true; ; first = false) {
    handlers.step()
    const block = await readNextHeader(stream, first, handlers)
    if (!block) return
    const header = readTarHeader(block, toErrorHandler(handlers))
    if (await tryToReadExtensionHeader(stream, header, pending, globalRecords)) continue
    applyExtensions(header, pending, globalRecords)
    pending = { pax: new Map() }
    handlers.onMember(header)
    await readData(stream, header, handlers)
  }
}

const toErrorHandler =
  ({ onError }: TarHandlers) =>
  (error: FormatError): void => {
    if (!onError) throw error
    onError(error)
  }

/** Returns the next header block, or undefined at a block of zeros or, as in GNU tar, at the end of the file. */
async function readNextHeader(stream: ByteStream, isFirst: boolean, handlers: TarHandlers): Promise<Buffer | undefined> {
  let block = await stream.read(tarBlock)
  // Like `tar -i`, skips blocks of zeros if the handler tolerates errors, because members may follow them.
  while (handlers.onError && block.length === tarBlock && isZeroBlock(block)) {
    handlers.step()
    block = await stream.read(tarBlock)
  }
  // A block of zeros, even an incomplete one, ends the archive.
  if (!isFirst && isZeroBlock(block)) return undefined
  if (block.length < tarBlock)
    throw createDamageError(isFirst ? 'the file is too short for a tar archive' : 'the tar archive is truncated within a header')
  if (isZeroBlock(block)) return undefined
  if (!hasValidTarChecksum(block))
    throw createDamageError(isFirst ? 'the file does not start with a tar header' : 'the checksum of a tar header is incorrect')
  return block
}

async function tryToReadExtensionHeader(
  stream: ByteStream,
  header: TarHeader,
  pending: PendingExtensions,
  globalRecords: PaxRecords,
): Promise<boolean> {
  if (!'xgXLK'.includes(header.type)) return false
  if (header.size > maxExtensionBytes)
    throw createMaliciousError('tar_header', `an extended tar header is ${header.size} bytes, which exceeds the limit`)
  const bytes = Buffer.from(await stream.read(header.size))
  if (bytes.length < header.size) throw createDamageError('the tar archive is truncated within an extended header')
  await skipPadding(stream, header.size)
  const decodeText = () => bytes.toString('utf8').replace(/\0.*$/s, '')
  if (header.type === 'L') pending.longName = decodeText()
  else if (header.type === 'K') pending.longLink = decodeText()
  else parsePaxRecords(bytes, header.type === 'g' ? globalRecords : pending.pax)
  return true
}

function applyExtensions(header: TarHeader, pending: PendingExtensions, globalRecords: PaxRecords): void {
  if (pending.longName !== undefined) header.name = pending.longName
  if (pending.longLink !== undefined) header.linkName = pending.longLink
  applyPaxRecords(header, globalRecords)
  applyPaxRecords(header, pending.pax)
}

async function readData(stream: ByteStream, header: TarHeader, handlers: TarHandlers): Promise<void> {
  if (header.sparse?.extended) await skipSparseMap(stream)
  let seen = 0
  const readCountedChunks = async function* () {
    for await (const chunk of stream.readChunks(header.size - seen)) {
      seen += chunk.length
      yield chunk
    }
  }
  if (header.size > 0) {
    const data = new IteratorStream(readCountedChunks())
    await handlers.onData(header, data)
    await data.close()
  }
  seen += await stream.skip(header.size - seen)
  if (seen < header.size) throw createDamageError(`the tar archive is truncated within the member ${quoteName(header.name)}`)
  await skipPadding(stream, header.size)
}

async function skipPadding(stream: ByteStream, size: number): Promise<void> {
  const padding = (tarBlock - (size % tarBlock)) % tarBlock
  if ((await stream.skip(padding)) < padding) throw createDamageError('the tar archive is truncated after a member')
}

async function skipSparseMap(stream: ByteStream): Promise<void> {
  for (let extended = true; extended; ) {
    const block = await stream.read(tarBlock)
    if (block.length < tarBlock) throw createDamageError("the tar archive is truncated within a sparse member's map")
    extended = block[504] !== 0
  }
}
