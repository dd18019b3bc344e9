import type { ReaderLimits } from '../../format.js'
import { createDamageError } from '../../format-error.js'
import type { PackedMember, PartSink, SevenZipListing, SevenZipRun } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { runSevenZip } from './engine.js'

export const createMemberOfUnknownSize = (name: string): PackedMember => ({
  name,
  size: Number.POSITIVE_INFINITY,
  symlink: false,
  encrypted: false,
})

/** Lists the members of an archive. `onMember` receives each member at its start, and can throw to stop the listing. */
export async function listMembers(
  source: RandomAccessSource,
  type: string,
  limits: ReaderLimits,
  onMember?: (name: string) => void,
): Promise<SevenZipListing> {
  const members: PackedMember[] = []
  let packed = 0
  const parseLine = (text: string) => {
    const [, key, value = ''] =
      /^(Path|Size|Packed Size|Encrypted|Attributes|Folder|(?:Symbolic|Hard|Copy) Link) = (.*)$/.exec(text) ?? []
    if (key === 'Path') {
      onMember?.(value)
      members.push(createMemberOfUnknownSize(value))
      return
    }
    const member = members.at(-1)
    if (!member) return
    if (key === 'Size' && value !== '') member.size = Number(value) || 0
    // The value contains the Windows attributes, optionally followed by the Unix attributes.
    if (key === 'Attributes') member.symlink = / l[r-][w-]|^\S*L/.test(value)
    // 7-Zip unpacks a member with content as a file, even if its attributes declare a folder.
    const hasContent = Number.isFinite(member.size) && member.size > 0
    if (key === 'Folder' ? value === '+' : key === 'Attributes' && /^D/.test(value) && !hasContent) member.folder = true
    if (key === 'Encrypted') member.encrypted = value === '+'
    if (key === 'Packed Size') packed = value === '' ? Number.NaN : Number(value)
    if (!key?.endsWith(' Link') || value === '' || packed !== 0) return
    member.target = value
    // 7-Zip unpacks a RAR 5 file reference as a copy of the file. Other links have no content.
    if (key !== 'Copy Link') member.size = 0
  }
  const run = await runSevenZip(source, limits, { command: ['l', '-slt', '-ba'], type, onLine: parseLine })
  return { run, members }
}

export interface UnpackMembersOptions {
  type: string
  members: PackedMember[]
  limits: ReaderLimits
  createSink(member: PackedMember): PartSink | undefined
}

/** Unpacks all members in one synchronous run of 7-Zip, so the sinks must be synchronous too. */
export function unpackMembers(
  source: RandomAccessSource,
  { type, members, limits, createSink }: UnpackMembersOptions,
): Promise<SevenZipRun> {
  const splitter = new MemberSplitter(members, createSink)
  // 7-Zip reports a data error for each link. Any other error with the same member name indicates damage.
  const expectedErrors = members.flatMap(({ name, target, size }) =>
    target === undefined || size > 0 ? [] : `ERROR: Data Error : ${name}`,
  )
  const options = { command: ['x', '-so'], type, expectedErrors, onOutput: (bytes: Buffer) => splitter.write(bytes) }
  return runSevenZip(source, limits, options).finally(() => splitter.endMember())
}

class MemberSplitter {
  readonly #members: PackedMember[]
  readonly #createSink: UnpackMembersOptions['createSink']
  #next = 0
  #sink: PartSink | undefined
  #left = 0

  constructor(members: PackedMember[], createSink: UnpackMembersOptions['createSink']) {
    this.#members = members
    this.#createSink = createSink
  }

  write(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.#left === 0) this.#beginNextMember()
      const chunk = rest.subarray(0, this.#left)
      rest = rest.subarray(chunk.length)
      this.#left -= chunk.length
      this.#sink?.write(chunk)
      if (this.#left === 0) this.endMember()
    }
  }

  endMember(): void {
    const sink = this.#sink
    this.#sink = undefined
    sink?.end()
  }

  #beginNextMember(): void {
    let member: PackedMember | undefined
    do member = this.#members[this.#next++]
    while (member?.size === 0)
    if (!member) throw createDamageError('the archive expands to more bytes than its directory declares')
    this.#left = member.size
    this.#sink = this.#createSink(member)
  }
}
