import { IteratorStream } from '../archive/byte-stream.js'
import { type Container, detectContainer, detectContainerAtEnd, headLength, isTar, tailLength } from '../archive/containers.js'
import { SpooledBytes } from '../archive/spooled-bytes.js'
import { toPrintable } from '../format-error.js'
import type { PartSink } from '../member-observer.js'
import { MemorySource, type RandomAccessSource } from '../random-access-source.js'
import type { Members, ObservedMembers, Opener } from './opener.js'
import { containerKinds } from './openers.js'
import { PushedMembers } from './pushed-members.js'
import { openTarStream } from './tar.js'
import {
  acquireWindow,
  LimitExceeded,
  releaseWindow,
  StreamWindow,
  type UnscannedCause,
  visitSource,
  WalkEnded,
  type WalkRun,
  type WindowReceiver,
  windowBytes,
} from './visitor.js'

const trailingArchiveReason = 'an archive at the end of a large file was not unpacked'

interface OpenContainerOptions {
  open?: Opener | undefined
  isTrailing?: boolean
  observed?: ObservedMembers | undefined
  parent: WindowReceiver
  isCommon?: boolean
}

interface LevelOptions {
  depth?: number
  container?: Container
  observed?: ObservedMembers | undefined
  /** Receives the raw bytes of the container. Undefined for the whole file, and for members that a reader unpacks. */
  parent?: WindowReceiver
  isCommon?: boolean
}

/** Members of one container. Level 0 contains only the file itself. */
export class Level implements Members {
  readonly #run: WalkRun
  readonly #depth: number
  readonly #container: Container | undefined
  readonly #observed: ObservedMembers | undefined
  readonly #options: LevelOptions

  constructor(run: WalkRun, options: LevelOptions = {}) {
    this.#run = run
    this.#options = options
    this.#depth = options.depth ?? 0
    this.#container = options.container
    this.#observed = options.observed
  }

  withUncommonMembers(): Level {
    return new Level(this.#run, { ...this.#options, isCommon: false })
  }

  get visitsPartsSeparately(): boolean {
    return this.#run.visitor.separateParts ?? false
  }

  reportDeclaredSize(bytes: number): void {
    if (this.#options.parent) this.#run.visitor.onDeclaredSize?.(bytes, this.#options.parent)
  }

  get fileSize(): number {
    return this.#run.size
  }

  get limits() {
    return this.#run.limits
  }

  get readerLimits() {
    return this.#run.readerLimits
  }

  get step(): () => void {
    return this.#run.step
  }

  readonly beginMember = (name: string): void => {
    this.#run.countMember(name)
    // Brotli files have no signature, so they can be identified only by their name.
    if (/\.br$/i.test(name)) this.reportUnscannedPart('unsupported', 'Brotli files are not unpacked')
  }

  wasObserved(offset: number): boolean {
    if (!this.#observed?.members.has(offset)) return false
    if (this.#run.endedBy) throw this.#run.endedBy
    return true
  }

  getObservedSevenZipResult(type: string) {
    const observed = this.#observed?.sevenZip
    if (observed?.type !== type) return undefined
    const { listing, run } = observed
    if (this.#run.endedBy) throw this.#run.endedBy
    return run && { listing, run }
  }

  reportUnscannedPart(cause: UnscannedCause, reason: string): void {
    this.#run.recordUnscannedPart({ cause, ...(this.#container && { container: this.#container }), depth: this.#depth, reason })
  }

  async addContent(source: RandomAccessSource, observed?: ObservedMembers): Promise<void> {
    this.#run.countBytes(source.size)
    await this.visitContent(source, observed)
  }

  async addStream(chunks: AsyncIterable<Buffer>): Promise<void> {
    const window = acquireWindow()
    const iterator = chunks[Symbol.asyncIterator]()
    try {
      await this.#visitStream(window, iterator)
    } finally {
      await iterator.return?.()
      releaseWindow(window)
    }
  }

  async addPushedMembers(maxBytes: number, unpack: (sink: () => PartSink) => Promise<void>): Promise<void> {
    const members = this.createPushedMembers(maxBytes)
    try {
      const damage = await unpack(members.sink).catch((error) => {
        if (error instanceof WalkEnded) throw error
        return error
      })
      await members.visitSpooledMembers((source) => this.withUncommonMembers().visitContent(source))
      if (damage) throw damage
    } finally {
      members.close()
    }
  }

  createPushedMembers(maxBytes: number): PushedMembers {
    // Other programs support fewer formats and methods than 7-Zip, so the content counts as uncommon.
    const beginContent = () => this.#beginContent(false)
    const onMissedArchive = () => this.reportUnscannedPart('unsupported', trailingArchiveReason)
    return new PushedMembers({ beginContent, countBytes: (bytes) => this.#run.countBytes(bytes), onMissedArchive, maxBytes })
  }

  /** Visits content and everything inside it, except members that were observed earlier. */
  async visitContent(source: RandomAccessSource, observed?: ObservedMembers): Promise<void> {
    const parent = this.#beginContent()
    visitSource(source, parent, this.step)
    const head = source.read(0, headLength)
    const container = detectContainer(head)
    if (container)
      await this.#openContainer(container, source, { observed, parent, isCommon: isCommonContainer(container, head) })
    // The file may still be a tar whose first member contains a PDF or mail signature in its name or content.
    if (container !== 'tar' && isTar(head)) await this.#openContainer('tar', source, { parent })
    if (container === 'zip' || container === 'gzip' || container === 'tar') return
    const behind = detectContainerAtEnd(source.read(Math.max(0, source.size - tailLength), tailLength))
    if (behind) await this.#openContainer(behind, source, { isTrailing: true, observed, parent })
  }

  #beginContent(isCommon = this.#options.isCommon ?? false): WindowReceiver {
    const { container, parent } = this.#options
    return this.#run.visitor.onContent(container && parent && { container, parent, isCommon })
  }

  async #openContainer(
    container: Container,
    source: RandomAccessSource,
    { open = containerKinds[container].open, isTrailing = false, observed, parent, isCommon = false }: OpenContainerOptions,
  ): Promise<void> {
    const { name, sevenZipType } = containerKinds[container]
    const inside = new Level(this.#run, { depth: this.#depth + 1, container, observed, parent, isCommon })
    if (!open) return inside.reportUnscannedPart('unsupported', `a container was not unpacked (${name})`)
    if (container === 'pdf' && this.#depth === 0) this.#run.raiseRatioExemption()
    const { maxNesting } = this.limits
    if (inside.#depth > maxNesting) throw new LimitExceeded(`archives are nested ${maxNesting} or more levels deep`)
    try {
      await open(source, inside)
    } catch (error) {
      if (error instanceof WalkEnded) throw error
      // A damaged container that follows other content is usually a false detection, so the damage is reported only if 7-Zip can
      // unpack the format.
      if (!isTrailing || sevenZipType)
        inside.reportUnscannedPart(
          'damaged',
          `a container is damaged (${name}: ${toPrintable(String((error as Error).message))})`,
        )
    }
  }

  /** Visits a stream and buffers at most one window of it. */
  async #visitStream(window: Buffer, iterator: AsyncIterator<Buffer>): Promise<void> {
    let filled = 0
    try {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        this.#run.countBytes(next.value.length)
        const copied = next.value.copy(window, filled)
        filled += copied
        if (copied < next.value.length) return await this.#visitLargeStream(window, next.value.subarray(copied), iterator)
      }
    } catch (error) {
      if (error instanceof WalkEnded && !(error instanceof LimitExceeded)) throw error
      // Visit the bytes that were unpacked before the damage was found or the limit was exceeded.
      const unpacked = window.subarray(0, filled)
      if (filled < windowBytes && !(error instanceof WalkEnded)) await this.visitContent(new MemorySource(unpacked))
      else this.#beginContent()(unpacked, { first: true, last: true })
      throw error
    }
    await this.visitContent(new MemorySource(window.subarray(0, filled)))
  }

  /** Visits large content while it is unpacked. A container that needs random access is stored before the visit. */
  async #visitLargeStream(window: Buffer, first: Buffer, iterator: AsyncIterator<Buffer>): Promise<void> {
    const container = detectContainer(window.subarray(0, headLength))
    const rest = this.#yieldCountedChunks(first, iterator)
    if (container && container !== 'tar') return this.#spoolAndVisit(window, rest)
    const parent = this.#beginContent()
    const view = new StreamWindow(window, parent)
    if (!container) {
      for await (const chunk of rest) view.pushChunk(chunk)
      if (view.endsWithArchive) this.reportUnscannedPart('unsupported', trailingArchiveReason)
    } else {
      const openTar: Opener = (_, members) => openLargeTar(window, view, rest, members)
      await this.#openContainer('tar', new MemorySource(window), { open: openTar, parent, isCommon: true })
    }
    view.sendLastWindow()
  }

  async *#yieldCountedChunks(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
    yield first
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      this.#run.countBytes(next.value.length)
      yield next.value
    }
  }

  async #spoolAndVisit(window: Buffer, rest: AsyncIterable<Buffer>): Promise<void> {
    const held = new SpooledBytes()
    try {
      held.write(window)
      for await (const chunk of rest) held.write(chunk)
      await this.visitContent(held.toSource())
    } finally {
      held.close()
    }
  }
}

/** True if other programs also recognize the container by its first bytes. */
const isCommonContainer = (container: Container, head: Buffer): boolean =>
  !(container in firstBytes) || head.toString('latin1', 0, 8).startsWith(firstBytes[container]!)

const firstBytes: Partial<Record<Container, string>> = { zip: 'PK\x03\x04', pdf: '%PDF-' }

/** Visits the members of a tar archive. Also passes the bytes of the archive to `streamWindow` until the stream ends. */
async function openLargeTar(
  window: Buffer,
  streamWindow: StreamWindow,
  rest: AsyncIterable<Buffer>,
  members: Members,
): Promise<void> {
  const passing = (async function* () {
    // Copies the window, because its content changes while the members are read.
    yield Buffer.from(window)
    for await (const chunk of rest) {
      streamWindow.pushChunk(chunk)
      yield chunk
    }
  })()
  const stream = new IteratorStream(passing)
  try {
    await openTarStream(stream, members)
  } finally {
    await stream.skip(Number.POSITIVE_INFINITY)
  }
}
