import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Entry, ZipFile } from 'yauzl'
import { shown } from '../errors.js'
import { type LookSource, memorySource, NamelessFile } from './look-source.js'
import { type Container, headLength, recognise } from './recognise.js'
import { nameTrick } from './rules.js'
import { TarFeed } from './tar-feed.js'
import { macroSources } from './vba.js'
import type { ScanVerdict } from './virus-scanner.js'
import { findInSource, findInWindow, StreamWindow, type WindowPlace } from './windows.js'
import type { Find } from './yara-engine.js'
import { type UnpackLimits, windowBytes } from './yara-limits.js'
import { openMember, openZip, pieces } from './zip-members.js'

export interface LookOptions {
  find: Find
  limits: UnpackLimits
  /** Asked between pieces. */
  cancelled(): boolean
}

/** On its way out of all the archives that it was found in. */
class Found extends Error {
  readonly signature: string

  constructor(signature: string) {
    super(signature)
    this.signature = signature
  }
}

/** A limit: nothing more of this upload is unpacked. */
class Enough extends Error {}

/** Whoever asked does not want to know any more. */
export class Cancelled extends Error {}

/** Looks at a file and at what is in it, and in that. */
export async function lookAt(source: LookSource, options: LookOptions): Promise<ScanVerdict> {
  const look = new Look(source.size, options)
  try {
    await look.at(source, 1)
  } catch (error) {
    if (error instanceof Found) return { verdict: 'infected', signature: error.signature }
    if (error instanceof Enough) return { verdict: 'incomplete', reason: error.message }
    throw error
  }
  return look.verdict()
}

/** What a single look at all of a small file, which holds nothing that could be unpacked, finds. */
export function findIn(bytes: Buffer, find: Find): string | undefined {
  return find(bytes, true) ?? findInMacros(bytes, find)
}

function findInMacros(bytes: Buffer, find: Find): string | undefined {
  for (const macro of macroSources(bytes)) {
    const signature = find(macro, true)
    if (signature !== undefined) return signature
  }
  return undefined
}

const notUnpacked: Partial<Record<Container, string>> = {
  '7z': '7z',
  rar: 'RAR',
  bzip2: 'bzip2',
  xz: 'xz',
  zstd: 'zstd',
  cab: 'cabinet',
  ole: 'OLE',
  pdf: 'PDF',
}

/** What is told of a container that is scanned as it is; undefined for what is unpacked, and for what holds nothing. */
export const noteOn = (container: Container | undefined): string | undefined => {
  const name = container && notUnpacked[container]
  return name && `scanned as it is, since the engine does not unpack it: ${name}`
}

/** True where an archive's directory stands at the end of something that does not look like one from the front. */
export const endsLikeZip = (tail: Buffer): boolean => tail.includes('PK\x05\x06', 0, 'latin1')

/** A window for each level of nesting, kept for the next upload. */
const windows: Buffer[] = []
const windowOf = (depth: number): Buffer => (windows[depth] ??= Buffer.allocUnsafeSlow(windowBytes))

class Look {
  readonly #size: number
  readonly #options: LookOptions
  readonly #notes = new Set<string>()
  #encrypted: string | undefined
  #unpacked = 0
  #members = 0

  constructor(size: number, options: LookOptions) {
    this.#size = size
    this.#options = options
  }

  verdict(): ScanVerdict {
    if (this.#encrypted) return { verdict: 'incomplete', reason: this.#encrypted }
    return this.#notes.size > 0 ? { verdict: 'clean', note: [...this.#notes].join('; ') } : { verdict: 'clean' }
  }

  async at(source: LookSource, depth: number): Promise<void> {
    findInSource(source, windowOf(depth), this.#find, this.#step)
    const container = recognise(source.read(0, headLength))
    const note = noteOn(container)
    if (note) this.#notes.add(note)
    if (
      container === 'zip' ||
      (container !== 'gzip' && container !== 'tar' && endsLikeZip(source.read(Math.max(0, source.size - 66_000), 66_000)))
    ) {
      await this.#inside('zip', depth, () => this.#zip(source, depth), container !== 'zip')
    } else if (container === 'gzip') {
      await this.#inside('gzip', depth, () => this.#gzip(source, depth))
    } else if (container === 'tar') {
      await this.#inside('tar', depth, () => this.#tar(source, depth))
    }
  }

  readonly #find = (bytes: Buffer, place: WindowPlace) => {
    const { find } = this.#options
    const signature = findInWindow(bytes, place, find) ?? findInMacros(bytes, find)
    if (signature !== undefined) throw new Found(signature)
  }

  readonly #step = () => {
    if (this.#options.cancelled()) throw new Cancelled()
  }

  /** Damage is another check's verdict: what can be unpacked before it is looked at, all of it is scanned as it is, and the report says so. */
  async #inside(what: string, depth: number, unpack: () => Promise<void>, disguised = false): Promise<void> {
    const { maxNesting } = this.#options.limits
    if (depth > maxNesting) throw new Enough(`it holds archives in archives, ${maxNesting} deep and more`)
    try {
      await unpack()
    } catch (error) {
      if (error instanceof Found || error instanceof Enough || error instanceof Cancelled) throw error
      if (/encryption/.test(String((error as Error).message))) this.#encrypted ??= `the ${what} is encrypted`
      else if (!disguised)
        this.#notes.add(
          `looked at only as far as it can be unpacked: a damaged ${what} (${shown(String((error as Error).message))})`,
        )
    }
  }

  async #zip(source: LookSource, depth: number): Promise<void> {
    const zip = await openZip(source)
    for await (const entry of zip.eachEntry()) await this.#zipMember(zip, entry, source, depth)
  }

  async #zipMember(zip: ZipFile, entry: Entry, source: LookSource, depth: number): Promise<void> {
    const name = entry.fileNameRaw.toString('utf8')
    this.#member(name)
    if (entry.isEncrypted()) {
      this.#encrypted ??= `member '${shown(name)}' of the zip archive is encrypted`
    } else if (!entry.canDecodeFileData()) {
      this.#notes.add(`scanned as it is: a zip member packed by method ${entry.compressionMethod}`)
    } else {
      const member = await openMember(zip, entry, source, windowBytes)
      if (member instanceof Readable) return this.#stream(member, depth + 1)
      this.#count(member.length)
      await this.at(memorySource(member), depth + 1)
    }
  }

  async #gzip(source: LookSource, depth: number): Promise<void> {
    this.#member('')
    const gunzip = createGunzip()
    // A fault reaches whoever reads from the last of the two.
    pipeline(Readable.from(pieces(source)), gunzip, () => {})
    await this.#stream(gunzip, depth + 1)
  }

  async #tar(source: LookSource, depth: number): Promise<void> {
    const feed = this.#tarFeed(depth)
    for (const piece of pieces(source)) await feed.push(piece)
    await feed.end()
  }

  #tarFeed(depth: number): TarFeed {
    return new TarFeed(async (name, stream) => {
      this.#member(name)
      await this.#stream(stream, depth + 1)
    })
  }

  /** In memory as far as one window goes, and no further. */
  async #stream(stream: Readable, depth: number): Promise<void> {
    const window = windowOf(depth)
    let filled = 0
    let rest: Rest | undefined
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        this.#count(piece.length)
        const taken = rest ? 0 : piece.copy(window, filled)
        filled += taken
        if (taken === piece.length) continue
        rest ??= this.#beyondWindow(window, depth)
        await rest.push(piece.subarray(taken))
      }
      await (rest ? rest.end() : this.at(memorySource(window.subarray(0, filled)), depth))
    } catch (error) {
      // What came before the damage has not been looked at yet where it is less than a window.
      if (!rest && !(error instanceof Found)) this.#find(window.subarray(0, filled), { first: true, last: true })
      throw error
    } finally {
      rest?.close?.()
    }
  }

  #beyondWindow(window: Buffer, depth: number): Rest {
    const container = recognise(window.subarray(0, headLength))
    const note = noteOn(container)
    if (note) this.#notes.add(note)
    if (container === 'zip' || container === 'gzip') return this.#spooled(window, depth)
    const view = new StreamWindow(window, this.#find)
    if (container !== 'tar') return { push: async (piece) => view.push(piece), end: async () => view.end() }
    return this.#largeTar(window, view, depth)
  }

  /** An archive that needs random access, or is too large to be held. */
  #spooled(window: Buffer, depth: number): Rest {
    const file = new NamelessFile()
    file.append(window)
    return { push: async (piece) => file.append(piece), end: () => this.at(file.source(), depth), close: () => file.close() }
  }

  #largeTar(window: Buffer, view: StreamWindow, depth: number): Rest {
    const feed = this.#tarFeed(depth)
    // The window goes on moving under the feed's feet: it gets a copy.
    let first: Buffer | undefined = Buffer.from(window)
    return {
      push: async (piece) => {
        view.push(piece)
        await this.#inside('tar', depth, async () => {
          if (first) await feed.push(first)
          first = undefined
          await feed.push(piece)
        })
      },
      end: async () => {
        view.end()
        await this.#inside('tar', depth, () => feed.end())
      },
    }
  }

  #member(name: string): void {
    const trick = nameTrick(name)
    if (trick) throw new Found(trick)
    this.#members++
    if (this.#members > this.#options.limits.maxMembers)
      throw new Enough(`it has more than ${this.#options.limits.maxMembers} members`)
  }

  #count(bytes: number): void {
    this.#step()
    this.#unpacked += bytes
    const { maxUnpackedBytes, maxRatio } = this.#options.limits
    if (this.#unpacked > maxUnpackedBytes) throw new Enough(`it unpacks to more than ${maxUnpackedBytes} bytes`)
    if (this.#unpacked > 64 * 1024 * 1024 && this.#unpacked > maxRatio * this.#size) {
      throw new Enough(`it unpacks to more than ${maxRatio} times its size`)
    }
  }
}

/** Takes what does not fit a window. */
interface Rest {
  push(piece: Buffer): Promise<void>
  end(): Promise<void>
  close?(): void
}
