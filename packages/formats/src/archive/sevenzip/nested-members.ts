import { quoteName } from '../../format-error.js'
import type { PackedMember, PartSink } from '../../member-observer.js'
import { selectSearchFunction } from '../active-members.js'
import { detectArchiveKind } from '../archive-kind.js'
import type { ArchiveLevel } from '../archive-level.js'
import { SourceStream } from '../byte-stream.js'
import type { ArchiveLinks } from '../member-names.js'
import { SpooledBytes } from '../spooled-bytes.js'
import { tarBlock } from '../tar/header.js'

const maxSpooledBytes = 256 * 1024 * 1024
const maxLinkBytes = 4096

export class NestedMembers {
  readonly #level: ArchiveLevel
  readonly #links: ArchiveLinks
  readonly #archives: { name: string; bytes: SpooledBytes }[] = []
  #keptBytes = 0

  constructor(level: ArchiveLevel, links: ArchiveLinks) {
    this.#level = level
    this.#links = links
  }

  readonly createSink = (member: PackedMember): PartSink => {
    const { name, size, symlink } = member
    const wanted = symlink ? Math.min(size, maxLinkBytes) : Math.min(size, tarBlock)
    let head = Buffer.alloc(0)
    let held: SpooledBytes | undefined
    return {
      write: (chunk) => {
        this.#level.budget.addUnpackedBytes(chunk.length)
        if (held) return held.write(chunk)
        if (head.length >= wanted) return
        head = Buffer.concat([head, chunk])
        if (head.length < wanted) return
        if (symlink) this.#links.addLink(name, head.toString('utf8', 0, wanted), true)
        else if (detectArchiveKind(head.subarray(0, tarBlock)) || this.#shouldSearch(member, head))
          held = this.#spoolArchive(member, head)
        else this.#level.recordContainer(head)
      },
      end: () => {},
    }
  }

  async checkNestedArchives(): Promise<void> {
    for (const { name, bytes } of this.#archives) await this.#level.checkNestedArchive(new SourceStream(bytes.toSource()), name)
  }

  close(): void {
    for (const { bytes } of this.#archives) bytes.close()
  }

  /** True if the member is searched for active content. Searched documents and nested archives share one storage limit. */
  #shouldSearch({ name, size }: PackedMember, head: Buffer): boolean {
    if (!selectSearchFunction(head.subarray(0, tarBlock), name)) return false
    const fits = size <= this.#level.budget.maxSearchableBytes && this.#keptBytes + size <= maxSpooledBytes
    if (!fits) this.#level.recordUnsearchedMember(name)
    return fits
  }

  #spoolArchive({ name, size }: PackedMember, head: Buffer): SpooledBytes | undefined {
    this.#keptBytes += size
    if (this.#keptBytes > maxSpooledBytes) {
      this.#level.addNote(`the member ${quoteName(name)} is an archive that was not checked`)
      return undefined
    }
    const bytes = new SpooledBytes()
    this.#archives.push({ name, bytes })
    bytes.write(head)
    return bytes
  }
}
