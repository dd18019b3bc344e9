import type { MemberObserver, SevenZipListing, SevenZipObserver } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { ChunkChannel } from './chunk-channel.js'
import { Level } from './level.js'
import type { ObservedMembers } from './opener.js'
import { getContainerBySevenZipType } from './openers.js'
import { maxUnpackedBytes, sumUnpackedBytes } from './sevenzip.js'
import { LimitExceeded, type Visitor, WalkEnded, type WalkLimits, type WalkResult, WalkRun, walkLimits } from './visitor.js'

export interface WalkOptions {
  visitor: Visitor
  limits?: WalkLimits
  /** Called between reads. May throw `WalkEnded` to cancel the walk. */
  step?(): void
}

/**
 * Recursively unpacks a file and passes all content to the visitor. If a format reader runs first with `observer`, the walk
 * visits the members that the reader unpacks and does not unpack them again.
 */
export class Walk {
  readonly #source: RandomAccessSource
  readonly #run: WalkRun
  readonly #observer: ContainerObserver

  constructor(source: RandomAccessSource, { visitor, limits = walkLimits, step = () => {} }: WalkOptions) {
    this.#source = source
    this.#run = new WalkRun(source.size, limits, visitor, step)
    this.#observer = new ContainerObserver(this.#run)
  }

  get observer(): MemberObserver {
    return this.#observer
  }

  /**
   * Finishes the walk and returns the unscanned parts. An empty list means that the visitor received the whole file. Rethrows
   * errors from the visitor.
   */
  async finish(): Promise<WalkResult> {
    try {
      await new Level(this.#run).visitContent(this.#source, this.#observer.observed)
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error
      this.#run.unscannedParts.unshift({ cause: 'limit', depth: 0, reason: error.message })
    }
    return this.#run.result
  }
}

export const walk = (source: RandomAccessSource, options: WalkOptions): Promise<WalkResult> => new Walk(source, options).finish()

/** Thrown if a reader stops before the end of a member. The walk then visits the member again. */
class ReaderStopped extends WalkEnded {}

/** Visits the members of a container while a format reader unpacks them. The reader continues even if the walk ends. */
class ContainerObserver implements MemberObserver {
  readonly observed: ObservedMembers = { members: new Set() }
  readonly #run: WalkRun
  readonly #depth: number
  readonly #inside = new Map<number, ObservedMembers>()

  constructor(run: WalkRun, depth = 1) {
    this.#run = run
    this.#depth = depth
  }

  createNestedObserver(offset: number): MemberObserver | undefined {
    if (this.#depth >= this.#run.limits.maxNesting) return undefined
    const observer = new ContainerObserver(this.#run, this.#depth + 1)
    this.#inside.set(offset, observer.observed)
    return observer
  }

  async visitMember(offset: number, content: RandomAccessSource): Promise<void> {
    const run = this.#run
    const { members } = this.observed
    if (run.endedBy || members.has(offset)) return
    const inside = this.#inside.get(offset)
    this.#inside.delete(offset)
    await new Level(run, { depth: this.#depth, container: 'zip' }).addContent(content, inside).catch(run.recordEnd)
    members.add(offset)
  }

  async *visitStream(container: 'zip' | 'gzip', offset: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const run = this.#run
    if (run.endedBy || this.observed.members.has(offset)) return yield* chunks
    const { used } = run
    const channel = new ChunkChannel()
    let isVisited = true
    const visiting = new Level(run, { depth: this.#depth, container })
      .addStream(channel)
      .catch((error) => {
        if (error instanceof WalkEnded && !(error instanceof ReaderStopped)) run.endedBy = error
        else isVisited = false
      })
      .finally(() => channel.close())
    let isComplete = false
    try {
      for await (const chunk of chunks) {
        await channel.sendChunk(chunk)
        yield chunk
      }
      isComplete = true
    } finally {
      channel.close(isComplete ? undefined : new ReaderStopped())
      await visiting
      if (run.endedBy || (isComplete && isVisited)) this.observed.members.add(offset)
      else run.used = used
    }
  }

  observeSevenZip(type: string, listing: SevenZipListing): SevenZipObserver | undefined {
    const run = this.#run
    if (run.endedBy || sumUnpackedBytes(listing.members) > maxUnpackedBytes) return undefined
    const container = getContainerBySevenZipType(type)
    const level = new Level(run, { depth: this.#depth, ...(container && { container }) })
    const { used } = run
    const runUnlessEnded = (work: () => void) => {
      if (run.endedBy) return
      try {
        work()
      } catch (error) {
        run.recordEnd(error)
      }
    }
    runUnlessEnded(() => {
      for (const { name } of listing.members) run.countMember(name)
    })
    const members = level.createPushedMembers(maxUnpackedBytes)
    return {
      begin: () => {
        const sink = members.sink()
        return { write: (chunk) => runUnlessEnded(() => sink.write(chunk)), end: () => runUnlessEnded(() => sink.end()) }
      },
      end: async (result) => {
        try {
          if (result && !run.endedBy)
            await members.visitSpooledMembers((source) => level.visitContent(source)).catch(run.recordEnd)
        } finally {
          members.close()
        }
        if (result || run.endedBy) this.observed.sevenZip = { type, listing, run: result }
        else run.used = used
      },
    }
  }
}
