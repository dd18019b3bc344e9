import type { MemberObserver } from '../member-observer.js'
import { named, Refusal, trap } from '../refusal.js'
import type { ArchiveBudget } from './budget.js'
import { type Container, recognise } from './containers.js'
import type { ByteStream } from './stream.js'

const mostNotes = 10

// These signatures also occur by chance, or have a reader that checks more.
const uncertain = new Set<Container>(['z', 'pdf', 'mail', 'ole'])

/** `offset` identifies a member of a zip archive for the observer. */
export type MemberLook = (stream: ByteStream, name: string, nest: ArchiveNest, offset?: number) => Promise<void>

export class ArchiveNest {
  constructor(
    readonly budget: ArchiveBudget,
    private readonly lookInside: MemberLook,
    readonly notes: string[] = [],
    readonly depth = 0,
    readonly observer?: MemberObserver,
  ) {}

  get limits() {
    return this.budget.limits
  }

  inside(name: string, observer?: MemberObserver): ArchiveNest {
    if (this.depth + 1 > this.limits.maxNesting) {
      throw trap('nesting', `archives lie more than ${this.limits.maxNesting} deep inside each other, at ${named(name)}`)
    }
    return new ArchiveNest(this.budget, this.lookInside, this.notes, this.depth + 1, observer)
  }

  /** Notes damage of a nested archive. A malicious construction in it rejects the whole file. */
  async look(stream: ByteStream, name: string, offset?: number): Promise<void> {
    try {
      await this.lookInside(stream, name, this, offset)
    } catch (error) {
      if (!(error instanceof Refusal) || error.isTrap) throw error
      this.note(`the member ${named(name)} is an archive that does not open: ${error.message}`)
    }
  }

  hold(head: Buffer): void {
    const kind = recognise(head)
    if (kind && !uncertain.has(kind)) this.budget.holds.add(kind)
  }

  /** Where nothing may be nested, the file needs a worker with higher limits. The error makes the caller use one. */
  leaveUnsearched(name: string): void {
    if (this.limits.maxNesting === 0) throw trap('nesting', `the member ${named(name)} is larger than is searched`)
    this.note(`the member ${named(name)} was not searched for active content`)
  }

  note(text: string): void {
    if (this.notes.length < mostNotes && !this.notes.includes(text)) this.notes.push(text)
  }
}
