import type { RandomAccessSource } from '../../random-access-source.js'
import { HeldBytes } from '../held-bytes.js'
import { archiveKind } from '../inside.js'
import type { ArchiveLinks } from '../names.js'
import type { ArchiveNest } from '../nest.js'
import { damaged, named } from '../refusal.js'
import { SourceStream } from '../stream.js'
import { tarBlock } from '../tar/header.js'
import { runSevenZip, type SevenZipRun } from './engine.js'

/** A member as the archive's directory tells it, in the directory's order. */
export interface PackedMember {
  name: string
  size: number
  symlink: boolean
  /** It was unpacked before: its bytes are counted, and it was looked into. */
  seen?: boolean
}

interface Packed {
  type: '7z' | 'zip'
  members: PackedMember[]
  /** Hears the targets of symbolic links. */
  links: ArchiveLinks
}

// Members that are archives are kept until 7-Zip has ended: it cannot be made to wait.
const keptAtMost = 256 * 1024 * 1024
const longestLink = 4096

/** Lets 7-Zip unpack all members, in one go and to nowhere; archives among them are looked into afterwards. */
export async function unpackMembers(
  source: RandomAccessSource,
  { type, members, links }: Packed,
  nest: ArchiveNest,
): Promise<SevenZipRun> {
  const splitter = new MemberSplitter(members, nest, links)
  try {
    const output = (bytes: Buffer) => splitter.take(bytes)
    const run = await runSevenZip(source, nest.limits, { command: ['x', '-so'], type, output })
    // Where it gave up, what came out may be any member's.
    if (run.exitCode <= 1 && run.complaints.length === 0) await splitter.lookInside()
    return run
  } finally {
    splitter.close()
  }
}

/** Cuts what 7-Zip brings, one member after another, into the members again. */
class MemberSplitter {
  private next = 0
  private member: PackedMember | undefined
  private left = 0
  private head = Buffer.alloc(0)
  private held: HeldBytes | undefined
  private heldBytes = 0
  private readonly archives: { name: string; bytes: HeldBytes }[] = []

  constructor(
    private readonly members: PackedMember[],
    private readonly nest: ArchiveNest,
    private readonly links: ArchiveLinks,
  ) {}

  take(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.left === 0) this.begin()
      const chunk = rest.subarray(0, this.left)
      rest = rest.subarray(chunk.length)
      this.left -= chunk.length
      this.add(chunk)
    }
  }

  async lookInside(): Promise<void> {
    for (const { name, bytes } of this.archives) await this.nest.look(new SourceStream(bytes.source()), name)
  }

  close(): void {
    for (const { bytes } of this.archives) bytes.close()
  }

  /** The next member that has any bytes. */
  private begin(): void {
    do this.member = this.members[this.next++]
    while (this.member?.size === 0)
    if (!this.member) throw damaged('the archive unpacks to more than its directory says')
    this.left = this.member.size
    this.head = Buffer.alloc(0)
    this.held = undefined
  }

  private add(chunk: Buffer): void {
    const { name, size, symlink, seen } = this.member!
    if (seen) return
    this.nest.budget.addUnpacked(chunk.length)
    if (this.held) {
      this.held.write(chunk)
      return
    }
    const wanted = symlink ? Math.min(size, longestLink) : tarBlock
    if (this.head.length >= wanted) return
    this.head = Buffer.concat([this.head, chunk])
    if (this.head.length < wanted && this.left > 0) return
    if (symlink) this.links.add(name, this.head.toString('utf8', 0, wanted), true)
    else if (archiveKind(this.head.subarray(0, tarBlock))) this.beginKeeping(name, size)
  }

  private beginKeeping(name: string, size: number): void {
    this.heldBytes += size
    if (this.heldBytes > keptAtMost) {
      this.nest.note(`the member ${named(name)} is an archive that was not looked into`)
      return
    }
    this.held = new HeldBytes()
    this.archives.push({ name, bytes: this.held })
    this.held.write(this.head)
  }
}
