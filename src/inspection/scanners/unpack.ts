import type { RandomAccessSource, ReaderLimits } from '@assay/formats'
import { MemorySource } from '@assay/formats'
import type { PartSink } from '@assay/formats/archive'
import { type Container, HeldBytes, headLength, PulledStream, recognise, recogniseTail, tailLength } from '@assay/formats/archive'
import { shown } from '../../platform/errors/errors.js'
import { containers } from './containers.js'
import { insides } from './inside/insides.js'
import type { Looker } from './inside/looker.js'
import { insideTarStream } from './inside/tar.js'
import { PushedMembers } from './pushed-members.js'
import type { ScanVerdict } from './verdict.js'
import type { Find } from './yara/engine.js'
import { type UnpackLimits, windowBytes } from './yara/limits.js'
import { nameTrick } from './yara/rules.js'
import { Seen } from './yara/script-search.js'
import { Cancelled, Enough, endsAll, Found } from './yara/stopped.js'
import { findInMacros } from './yara/vba.js'
import { findInSource, findInWindow, type See, StreamWindow } from './yara/windows.js'

/** What was found, before it is said which engine looked, and when that was proved to find anything. */
export type Looked = Omit<Extract<ScanVerdict, { verdict: 'clean' }>, 'provedAt'> | Exclude<ScanVerdict, { verdict: 'clean' }>

export interface LookOptions {
  find: Find
  limits: UnpackLimits
  cancelled(): boolean
}

export async function lookAt(source: RandomAccessSource, options: LookOptions): Promise<Looked> {
  const upload = new Upload(source.size, options)
  try {
    await new Look(upload, 1).at(source)
  } catch (error) {
    if (error instanceof Found) return { verdict: 'infected', signature: error.signature }
    if (error instanceof Enough) return { verdict: 'incomplete', reason: error.message }
    throw error
  }
  return upload.verdict()
}

class Upload {
  readonly notes = new Set<string>()
  incomplete: string | undefined
  readonly size: number
  readonly options: LookOptions
  #unpacked = 0
  #members = 0

  constructor(size: number, options: LookOptions) {
    this.size = size
    this.options = options
  }

  verdict(): Looked {
    if (this.incomplete) return { verdict: 'incomplete', reason: this.incomplete }
    return this.notes.size > 0 ? { verdict: 'clean', note: [...this.notes].join('; ') } : { verdict: 'clean' }
  }

  readonly step = (): void => {
    if (this.options.cancelled()) throw new Cancelled()
  }

  member(): void {
    const { maxMembers } = this.options.limits
    if (++this.#members > maxMembers) throw new Enough(`it has more than ${maxMembers} members`)
  }

  count(bytes: number): void {
    this.step()
    this.#unpacked += bytes
    const { maxUnpackedBytes, maxRatio } = this.options.limits
    if (this.#unpacked > maxUnpackedBytes) throw new Enough(`it unpacks to more than ${maxUnpackedBytes} bytes`)
    if (this.#unpacked > 64 * 1024 * 1024 && this.#unpacked > maxRatio * this.size)
      throw new Enough(`it unpacks to more than ${maxRatio} times its size`)
  }
}

/** A window for each level of nesting, kept for the next upload. */
const windows: Buffer[] = []
const windowOf = (depth: number): Buffer => (windows[depth] ??= Buffer.allocUnsafeSlow(windowBytes))

/** Looks at what lies at one level of nesting: the upload itself is the first. */
class Look implements Looker {
  readonly #upload: Upload
  readonly #depth: number

  constructor(upload: Upload, depth: number) {
    this.#upload = upload
    this.#depth = depth
  }

  get size(): number {
    return this.#upload.size
  }

  get limits(): UnpackLimits {
    return this.#upload.options.limits
  }

  get readerLimits(): ReaderLimits {
    const { maxMembers: maxEntries, ...rest } = this.limits
    return { ...rest, maxEntries, maxPictureBits: 0, maxDepth: 0, deadline: Number.POSITIVE_INFINITY }
  }

  get step(): () => void {
    return this.#upload.step
  }

  note(text: string): void {
    this.#upload.notes.add(text)
  }

  incomplete(reason: string): void {
    this.#upload.incomplete ??= reason
  }

  readonly member = (name: string): void => {
    const trick = nameTrick(name)
    if (trick) throw new Found(trick)
    this.#upload.member()
  }

  part(source: RandomAccessSource): Promise<void> {
    this.#upload.count(source.size)
    return this.#deeper().at(source)
  }

  stream(chunks: AsyncIterable<Buffer>): Promise<void> {
    return this.#deeper().#stream(chunks)
  }

  async pushed(most: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void> {
    const deeper = this.#deeper()
    const see = () => deeper.#see()
    const members = new PushedMembers({ window: windowOf(deeper.#depth), see, count: (bytes) => this.#upload.count(bytes) }, most)
    try {
      const damage = await unpack(members.sink).catch((error) => {
        if (endsAll(error)) throw error
        return error
      })
      await members.lookInside((source) => deeper.at(source))
      if (damage) throw damage
    } finally {
      members.close()
    }
  }

  async at(source: RandomAccessSource): Promise<void> {
    findInSource(source, () => windowOf(this.#depth), this.#see(), this.step)
    const container = recognise(source.read(0, headLength))
    if (container) await this.#inside(container, (look) => insides[container]?.(source, look))
    if (container === 'zip' || container === 'gzip' || container === 'tar') return
    const behind = recogniseTail(source.read(Math.max(0, source.size - tailLength), tailLength))
    if (behind) await this.#inside(behind, (look) => insides[behind]?.(source, look), true)
  }

  #deeper(): Look {
    return new Look(this.#upload, this.#depth + 1)
  }

  #see(): See {
    const { find } = this.#upload.options
    const seen = new Seen()
    return (bytes, place) => {
      const signature = findInWindow(bytes, place, seen, find) ?? findInMacros(bytes, find)
      if (signature !== undefined) throw new Found(signature)
    }
  }

  /** Damage is another check's verdict: what can be unpacked before it is looked at, all of it is scanned as it is, and the report says so. */
  async #inside(container: Container, unpack: (look: Looker) => Promise<void> | undefined, disguised = false): Promise<void> {
    const { name, builtIn, sevenZip } = containers[container]
    if (builtIn === 'no one') return this.incomplete(`it holds a ${name}, which nothing here unpacks`)
    const { maxNesting } = this.limits
    if (this.#depth > maxNesting) throw new Enough(`it holds archives in archives, ${maxNesting} deep and more`)
    try {
      await unpack(this)
    } catch (error) {
      if (endsAll(error)) throw error
      const damage = `a damaged ${name} (${shown(String((error as Error).message))})`
      // No other check reads these: their own programs may get further.
      if (sevenZip && container !== '7z') this.incomplete(`it holds ${damage}`)
      else if (!disguised) this.note(`looked at only as far as it can be unpacked: ${damage}`)
    }
  }

  /** In memory as far as one window goes, and no further. */
  async #stream(chunks: AsyncIterable<Buffer>): Promise<void> {
    const iterator = chunks[Symbol.asyncIterator]()
    const window = windowOf(this.#depth)
    let filled = 0
    try {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        this.#upload.count(next.value.length)
        const taken = next.value.copy(window, filled)
        filled += taken
        if (taken < next.value.length) return await this.#beyondWindow(window, next.value.subarray(taken), iterator)
      }
    } catch (error) {
      if (error instanceof Found) throw error
      if (filled < windowBytes && !endsAll(error)) await this.at(new MemorySource(window.subarray(0, filled)))
      else this.#see()(window.subarray(0, filled), { first: true, last: true })
      throw error
    } finally {
      await iterator.return?.()
    }
    await this.at(new MemorySource(window.subarray(0, filled)))
  }

  /** More than a window: looked at as it passes, or held where its container is read at random. */
  async #beyondWindow(window: Buffer, first: Buffer, iterator: AsyncIterator<Buffer>): Promise<void> {
    const container = recognise(window.subarray(0, headLength))
    const rest = this.#counted(first, iterator)
    if (container && container !== 'tar') return this.#held(window, rest)
    const view = new StreamWindow(window, this.#see())
    if (!container) for await (const chunk of rest) view.push(chunk)
    else await this.#inside('tar', (look) => this.#largeTar(window, view, rest, look))
    view.end()
  }

  async *#counted(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
    yield first
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      this.#upload.count(next.value.length)
      yield next.value
    }
  }

  async #held(window: Buffer, rest: AsyncIterable<Buffer>): Promise<void> {
    const held = new HeldBytes()
    try {
      held.write(window)
      for await (const chunk of rest) held.write(chunk)
      await this.at(held.source())
    } finally {
      held.close()
    }
  }

  /** Its members, while it is looked at as it is; also where they end before it does. */
  async #largeTar(window: Buffer, view: StreamWindow, rest: AsyncIterable<Buffer>, look: Looker): Promise<void> {
    const watched = (async function* () {
      // The window goes on moving while the members are read.
      yield Buffer.from(window)
      for await (const chunk of rest) {
        view.push(chunk)
        yield chunk
      }
    })()
    const stream = new PulledStream(watched)
    try {
      await insideTarStream(stream, look)
    } finally {
      await stream.skip(Number.POSITIVE_INFINITY)
    }
  }
}
