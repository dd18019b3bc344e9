import type { PackedMember, PartSink } from '../../member-observer.js'
import { named } from '../../refusal.js'
import { activeSearch } from '../active-members.js'
import { HeldBytes } from '../held-bytes.js'
import { archiveKind } from '../kind.js'
import type { ArchiveLinks } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import { SourceStream } from '../stream.js'
import { tarBlock } from '../tar/header.js'

const keptAtMost = 256 * 1024 * 1024
const longestLink = 4096

export class NestedMembers {
  readonly #nest: ArchiveNest
  readonly #links: ArchiveLinks
  readonly #archives: { name: string; bytes: HeldBytes }[] = []
  #keptBytes = 0

  constructor(nest: ArchiveNest, links: ArchiveLinks) {
    this.#nest = nest
    this.#links = links
  }

  readonly begin = (member: PackedMember): PartSink => {
    const { name, size, symlink } = member
    const wanted = symlink ? Math.min(size, longestLink) : Math.min(size, tarBlock)
    let head = Buffer.alloc(0)
    let held: HeldBytes | undefined
    return {
      write: (chunk) => {
        this.#nest.budget.addUnpacked(chunk.length)
        if (held) return held.write(chunk)
        if (head.length >= wanted) return
        head = Buffer.concat([head, chunk])
        if (head.length < wanted) return
        if (symlink) this.#links.add(name, head.toString('utf8', 0, wanted), true)
        else if (archiveKind(head.subarray(0, tarBlock)) || this.#isSearched(member, head)) held = this.#keep(member, head)
        else this.#nest.hold(head)
      },
      end: () => {},
    }
  }

  async lookInside(): Promise<void> {
    for (const { name, bytes } of this.#archives) await this.#nest.look(new SourceStream(bytes.source()), name)
  }

  close(): void {
    for (const { bytes } of this.#archives) bytes.close()
  }

  /** A searched document counts towards the same limit as a nested archive. */
  #isSearched({ name, size }: PackedMember, head: Buffer): boolean {
    if (!activeSearch(head.subarray(0, tarBlock), name)) return false
    const fits = size <= this.#nest.budget.searchable && this.#keptBytes + size <= keptAtMost
    if (!fits) this.#nest.leaveUnsearched(name)
    return fits
  }

  #keep({ name, size }: PackedMember, head: Buffer): HeldBytes | undefined {
    this.#keptBytes += size
    if (this.#keptBytes > keptAtMost) {
      this.#nest.note(`the member ${named(name)} is an archive that was not looked into`)
      return undefined
    }
    const bytes = new HeldBytes()
    this.#archives.push({ name, bytes })
    bytes.write(head)
    return bytes
  }
}
