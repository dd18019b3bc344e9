import { createMaliciousError, FormatError, quoteName } from '../format-error.js'
import type { MemberObserver } from '../member-observer.js'
import type { ArchiveBudget } from './budget.js'
import type { ByteStream } from './byte-stream.js'
import { type Container, detectContainer } from './containers.js'

const maxNotes = 10

// Nested containers of these types are not recorded, because the signature is too short to be reliable or the type has a more
// thorough reader.
const weakSignatures = new Set<Container>(['z', 'pdf', 'mail', 'ole'])

/** Checks a nested archive. If the outer archive is a zip, `offset` is the position of the nested archive's local header. */
export type NestedArchiveReader = (stream: ByteStream, name: string, level: ArchiveLevel, offset?: number) => Promise<void>

export class ArchiveLevel {
  constructor(
    readonly budget: ArchiveBudget,
    private readonly readNestedArchive: NestedArchiveReader,
    readonly notes: string[] = [],
    readonly depth = 0,
    readonly observer?: MemberObserver,
  ) {}

  get limits() {
    return this.budget.limits
  }

  createNestedLevel(name: string, observer?: MemberObserver): ArchiveLevel {
    if (this.depth + 1 > this.limits.maxNesting) {
      throw createMaliciousError(
        'nesting',
        `archives are nested more than ${this.limits.maxNesting} levels deep, at ${quoteName(name)}`,
      )
    }
    return new ArchiveLevel(this.budget, this.readNestedArchive, this.notes, this.depth + 1, observer)
  }

  /** Checks a nested archive. Adds a note if it is damaged, but throws if it is malicious, so that the whole file is rejected. */
  async checkNestedArchive(stream: ByteStream, name: string, offset?: number): Promise<void> {
    try {
      await this.readNestedArchive(stream, name, this, offset)
    } catch (error) {
      if (!(error instanceof FormatError) || error.isMalicious) throw error
      this.addNote(`the member ${quoteName(name)} is an archive that cannot be opened: ${error.message}`)
    }
  }

  recordContainer(head: Buffer): void {
    const kind = detectContainer(head)
    if (kind && !weakSignatures.has(kind)) this.budget.containers.add(kind)
  }

  /**
   * Notes that a member is too large to search. If nesting is disabled, throws instead, so that the caller retries in a worker.
   */
  recordUnsearchedMember(name: string): void {
    if (this.limits.maxNesting === 0)
      throw createMaliciousError('nesting', `the member ${quoteName(name)} is too large to search`)
    this.addNote(`the member ${quoteName(name)} was not searched for active content`)
  }

  addNote(text: string): void {
    if (this.notes.length < maxNotes && !this.notes.includes(text)) this.notes.push(text)
  }
}
