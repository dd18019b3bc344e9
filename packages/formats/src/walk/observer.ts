import type { MemberObserver, SevenZipListing, SevenZipObserver } from '../member-observer.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { Handover } from './handover.js'
import { Level } from './level.js'
import type { Observed } from './opener.js'
import { getContainerBySevenZipType } from './openers.js'
import type { WalkRun } from './run.js'
import { maxUnpackedBytes, sumUnpackedBytes } from './sevenzip.js'
import { WalkEnded } from './visitor.js'

/** Thrown if the reader stops before the end of a member, so that the walk visits the member again. */
class Abandoned extends WalkEnded {}

/** Visits the members of a container while a format reader unpacks them. If the walk ends, the reader continues. */
export class ContainerObserver implements MemberObserver {
  readonly observed: Observed = { members: new Set() }
  readonly #run: WalkRun
  readonly #depth: number
  readonly #inside = new Map<number, Observed>()

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
    await new Level(run, { depth: this.#depth, container: 'zip' }).addContent(content, inside).catch(run.end)
    members.add(offset)
  }

  async *visitStream(container: 'zip' | 'gzip', offset: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const run = this.#run
    if (run.endedBy || this.observed.members.has(offset)) return yield* chunks
    const { used } = run
    const handover = new Handover()
    let isVisited = true
    const visiting = new Level(run, { depth: this.#depth, container })
      .addStream(handover)
      .catch((error) => {
        if (error instanceof WalkEnded && !(error instanceof Abandoned)) run.endedBy = error
        else isVisited = false
      })
      .finally(() => handover.close())
    let isComplete = false
    try {
      for await (const chunk of chunks) {
        await handover.passChunk(chunk)
        yield chunk
      }
      isComplete = true
    } finally {
      handover.close(isComplete ? undefined : new Abandoned())
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
    const attempt = (work: () => void) => {
      if (run.endedBy) return
      try {
        work()
      } catch (error) {
        run.end(error)
      }
    }
    attempt(() => {
      for (const { name } of listing.members) run.countMember(name)
    })
    const members = level.createPushedMembers(maxUnpackedBytes)
    return {
      begin: () => {
        const sink = members.sink()
        return { write: (chunk) => attempt(() => sink.write(chunk)), end: () => attempt(() => sink.end()) }
      },
      end: async (result) => {
        try {
          if (result && !run.endedBy) await members.visitSpooled((source) => level.visitContent(source)).catch(run.end)
        } finally {
          members.close()
        }
        if (result || run.endedBy) this.observed.sevenZip = { type, listing, run: result }
        else run.used = used
      },
    }
  }
}
