import { Readable } from 'node:stream'
import { shown } from '../errors.js'
import { gunzipped } from './gzip.js'
import { type LookSource, memorySource, NamelessFile } from './look-source.js'
import { endsLikeZip, headLength, noteOn, recognise } from './recognise.js'
import { TarFeed } from './tar-feed.js'
import type { ScanVerdict } from './virus-scanner.js'
import type { Find } from './yara/engine.js'
import { type UnpackLimits, windowBytes } from './yara/limits.js'
import { nameTrick } from './yara/rules.js'
import { Seen } from './yara/script-search.js'
import { Cancelled, Enough, endsAll, Found } from './yara/stopped.js'
import { findInMacros } from './yara/vba.js'
import { findInSource, findInWindow, type See, StreamWindow } from './yara/windows.js'
import { type Looker, lookIntoZip } from './zip-look.js'
import { chunks } from './zip-members.js'

/** What was found, before it is said which engine looked, and when that was proved to find anything. */
export type Looked = Omit<Extract<ScanVerdict, { verdict: 'clean' }>, 'provedAt'> | Exclude<ScanVerdict, { verdict: 'clean' }>

export interface LookOptions {
  find: Find
  limits: UnpackLimits
  /** Asked between chunks. */
  cancelled(): boolean
}

/** Looks at a file and at what is in it, and in that. */
export async function lookAt(source: LookSource, options: LookOptions): Promise<Looked> {
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

/** A window for each level of nesting, kept for the next upload. */
const windows: Buffer[] = []
const windowOf = (depth: number): Buffer => (windows[depth] ??= Buffer.allocUnsafeSlow(windowBytes))

class Look implements Looker {
  readonly size: number
  readonly limits: UnpackLimits
  readonly #options: LookOptions
  readonly #notes = new Set<string>()
  #encrypted: string | undefined
  #unpacked = 0
  #members = 0

  constructor(size: number, options: LookOptions) {
    this.size = size
    this.limits = options.limits
    this.#options = options
  }

  note(text: string): void {
    this.#notes.add(text)
  }

  /** It is incomplete, unless something is found. */
  encrypted(reason: string): void {
    this.#encrypted ??= reason
  }

  verdict(): Looked {
    if (this.#encrypted) return { verdict: 'incomplete', reason: this.#encrypted }
    return this.#notes.size > 0 ? { verdict: 'clean', note: [...this.#notes].join('; ') } : { verdict: 'clean' }
  }

  async at(source: LookSource, depth: number): Promise<void> {
    findInSource(source, windowOf(depth), this.#see(), this.step)
    const container = recognise(source.read(0, headLength))
    const note = noteOn(container)
    if (note) this.note(note)
    if (
      container === 'zip' ||
      (container !== 'gzip' && container !== 'tar' && endsLikeZip(source.read(Math.max(0, source.size - 66_000), 66_000)))
    ) {
      await this.#inside('zip', depth, () => lookIntoZip(this, source, depth), container !== 'zip')
    } else if (container === 'gzip') {
      await this.#inside('gzip', depth, () => this.#gzip(source, depth))
    } else if (container === 'tar') {
      await this.#inside('tar', depth, () => this.#tar(source, depth))
    }
  }

  /** For the windows of one file or member. */
  #see(): See {
    const { find } = this.#options
    const seen = new Seen()
    return (bytes, place) => {
      const signature = findInWindow(bytes, place, seen, find) ?? findInMacros(bytes, find)
      if (signature !== undefined) throw new Found(signature)
    }
  }

  readonly step = () => {
    if (this.#options.cancelled()) throw new Cancelled()
  }

  /** Damage is another check's verdict: what can be unpacked before it is looked at, all of it is scanned as it is, and the report says so. */
  async #inside(what: string, depth: number, unpack: () => Promise<void>, disguised = false): Promise<void> {
    const { maxNesting } = this.limits
    if (depth > maxNesting) throw new Enough(`it holds archives in archives, ${maxNesting} deep and more`)
    try {
      await unpack()
    } catch (error) {
      if (endsAll(error)) throw error
      if (/encryption/.test(String((error as Error).message))) this.encrypted(`the ${what} is encrypted`)
      else if (!disguised)
        this.note(`looked at only as far as it can be unpacked: a damaged ${what} (${shown(String((error as Error).message))})`)
    }
  }

  async #gzip(source: LookSource, depth: number): Promise<void> {
    this.member('')
    await this.stream(Readable.from(gunzipped(source), { objectMode: true }), depth + 1)
  }

  async #tar(source: LookSource, depth: number): Promise<void> {
    const feed = this.#tarFeed(depth)
    for (const chunk of chunks(source)) await feed.push(chunk)
    await feed.end()
  }

  #tarFeed(depth: number): TarFeed {
    return new TarFeed(async (name, stream) => {
      this.member(name)
      await this.stream(stream, depth + 1)
    })
  }

  /** In memory as far as one window goes, and no further. */
  async stream(stream: Readable, depth: number): Promise<void> {
    const window = windowOf(depth)
    let filled = 0
    let rest: Rest | undefined
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        this.count(chunk.length)
        const taken = rest ? 0 : chunk.copy(window, filled)
        filled += taken
        if (taken === chunk.length) continue
        rest ??= this.#beyondWindow(window, depth)
        await rest.push(chunk.subarray(taken))
      }
      await (rest ? rest.end() : this.at(memorySource(window.subarray(0, filled)), depth))
    } catch (error) {
      // What came before the damage has not been looked at yet where it is less than a window.
      if (!rest && !(error instanceof Found)) this.#see()(window.subarray(0, filled), { first: true, last: true })
      throw error
    } finally {
      rest?.close?.()
    }
  }

  #beyondWindow(window: Buffer, depth: number): Rest {
    const container = recognise(window.subarray(0, headLength))
    const note = noteOn(container)
    if (note) this.note(note)
    if (container === 'zip' || container === 'gzip') return this.#spooled(window, depth)
    const view = new StreamWindow(window, this.#see())
    if (container !== 'tar') return { push: async (chunk) => view.push(chunk), end: async () => view.end() }
    return this.#largeTar(window, view, depth)
  }

  /** An archive that needs random access, or is too large to be held. */
  #spooled(window: Buffer, depth: number): Rest {
    const file = new NamelessFile()
    file.append(window)
    return { push: async (chunk) => file.append(chunk), end: () => this.at(file.source(), depth), close: () => file.close() }
  }

  #largeTar(window: Buffer, view: StreamWindow, depth: number): Rest {
    const feed = this.#tarFeed(depth)
    // The window goes on moving under the feed's feet: it gets a copy.
    let first: Buffer | undefined = Buffer.from(window)
    return {
      push: async (chunk) => {
        view.push(chunk)
        await this.#inside('tar', depth, async () => {
          if (first) await feed.push(first)
          first = undefined
          await feed.push(chunk)
        })
      },
      end: async () => {
        view.end()
        await this.#inside('tar', depth, () => feed.end())
      },
    }
  }

  member(name: string): void {
    const trick = nameTrick(name)
    if (trick) throw new Found(trick)
    this.#members++
    if (this.#members > this.limits.maxMembers) throw new Enough(`it has more than ${this.limits.maxMembers} members`)
  }

  count(bytes: number): void {
    this.step()
    this.#unpacked += bytes
    const { maxUnpackedBytes, maxRatio } = this.limits
    if (this.#unpacked > maxUnpackedBytes) throw new Enough(`it unpacks to more than ${maxUnpackedBytes} bytes`)
    if (this.#unpacked > 64 * 1024 * 1024 && this.#unpacked > maxRatio * this.size) {
      throw new Enough(`it unpacks to more than ${maxRatio} times its size`)
    }
  }
}

/** Takes what does not fit a window. */
interface Rest {
  push(chunk: Buffer): Promise<void>
  end(): Promise<void>
  close?(): void
}
