import { crc32, deflateSync, gzipSync } from 'node:zlib'
import { numbers as be } from './heic.js'
import { u16le, u32le } from './media.js'

const latin = (text: string) => Buffer.from(text, 'latin1')
const padded = (bytes: Buffer, to: number, fill = 0) =>
  Buffer.concat([bytes, Buffer.alloc((to - (bytes.length % to)) % to, fill)])

interface File {
  name: string
  bytes: Buffer
}

/** Creates a cpio archive in the `newc` format (`cpio -H newc`). */
export function cpio({ name, bytes }: File): Buffer {
  const member = (entry: string, mode: number, data: Buffer) => {
    const fields = [1, mode, 0, 0, 1, 0, data.length, 0, 0, 0, 0, entry.length + 1, 0]
    const head = latin(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}${entry}\0`)
    return Buffer.concat([padded(head, 4), padded(data, 4)])
  }
  return Buffer.concat([member(name, 0o100644, bytes), member('TRAILER!!!', 0, Buffer.alloc(0))])
}

/** Creates a cpio archive in the old portable ASCII format. */
export function oldCpio({ name, bytes }: File): Buffer {
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  const member = (entry: string, data: Buffer) =>
    Buffer.concat([
      latin(
        `070707${octal(0, 6)}${octal(1, 6)}${octal(0o100644, 6)}${octal(0, 6)}${octal(0, 6)}${octal(1, 6)}${octal(0, 6)}${octal(0, 11)}` +
          `${octal(entry.length + 1, 6)}${octal(data.length, 11)}${entry}\0`,
      ),
      data,
    ])
  return Buffer.concat([member(name, bytes), member('TRAILER!!!', Buffer.alloc(0))])
}

/** Creates a Unix `ar` archive, the format of Debian packages. */
export const ar = (...files: File[]): Buffer =>
  Buffer.concat([
    latin('!<arch>\n'),
    ...files.map(({ name, bytes }) =>
      padded(
        Buffer.concat([
          latin(
            `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(bytes.length).padEnd(10)}\`\n`,
          ),
          bytes,
        ]),
        2,
        10,
      ),
    ),
  ])

/** Creates an RPM package with the file as its payload. */
export function rpm(file: File): Buffer {
  const lead = Buffer.alloc(96)
  be(4, 0xedabeedb).copy(lead, 0)
  lead[4] = 3
  lead.write('made-1-1', 10, 'latin1')
  be(2, 1, 5).copy(lead, 76)
  const header = (tags: [number, string][]): Buffer => {
    const store = latin(tags.map(([, value]) => `${value}\0`).join(''))
    let offset = 0
    const index = tags.map(([tag, value]) => {
      const entry = be(4, tag, 6, offset, 1)
      offset += value.length + 1
      return entry
    })
    return Buffer.concat([Buffer.from('8eade80100000000', 'hex'), be(4, tags.length, store.length), ...index, store])
  }
  const tags: [number, string][] = [
    [1124, 'cpio'],
    [1125, 'gzip'],
  ]
  return Buffer.concat([lead, padded(header([]), 8), header(tags), gzipSync(cpio(file))])
}

export function iso({ name, bytes }: File): Buffer {
  const sector = 2048
  const both16 = (value: number) => Buffer.concat([u16le(value), be(2, value)])
  const both32 = (value: number) => Buffer.concat([u32le(value), be(4, value)])
  const record = (id: Buffer, at: number, size: number, flags: number) => {
    const body = Buffer.concat([
      Buffer.from([0]),
      both32(at),
      both32(size),
      Buffer.alloc(7),
      Buffer.from([flags, 0, 0]),
      both16(1),
      Buffer.from([id.length]),
      id,
    ])
    return Buffer.concat([Buffer.from([body.length + 1 + ((body.length + 1) % 2)]), body, Buffer.alloc((body.length + 1) % 2)])
  }
  const root = (id: number) => record(Buffer.from([id]), 18, sector, 2)
  const fileSectors = Math.ceil(bytes.length / sector)
  const descriptor = Buffer.alloc(sector)
  Buffer.concat([Buffer.from([1]), latin('CD001'), Buffer.from([1])]).copy(descriptor)
  descriptor.write(' '.repeat(32) + 'MADE'.padEnd(32), 8, 'latin1')
  both32(20 + fileSectors).copy(descriptor, 80)
  both16(1).copy(descriptor, 120)
  both16(1).copy(descriptor, 124)
  both16(sector).copy(descriptor, 128)
  both32(10).copy(descriptor, 132)
  u32le(19).copy(descriptor, 140)
  be(4, 19).copy(descriptor, 148)
  root(0).copy(descriptor, 156)
  descriptor[881] = 1
  const end = Buffer.alloc(sector)
  Buffer.concat([Buffer.from([255]), latin('CD001'), Buffer.from([1])]).copy(end)
  const directory = padded(Buffer.concat([root(0), root(1), record(latin(`${name};1`), 20, bytes.length, 0)]), sector)
  const paths = padded(Buffer.concat([Buffer.from([1, 0]), u32le(18), Buffer.from([1, 0, 0, 0])]), sector)
  return Buffer.concat([Buffer.alloc(16 * sector), descriptor, end, directory, paths, padded(bytes, sector)])
}

export function arj({ name, bytes }: File): Buffer {
  const block = (type: number, entry: string, data: Buffer) => {
    const basic = Buffer.concat([
      Buffer.from([30, 11, 1, 2, 0, 0, type, 0]),
      u32le(0x21 << 16),
      u32le(data.length),
      u32le(data.length),
      u32le(type === 2 ? 0 : crc32(data)),
      u16le(0),
      u16le(type === 2 ? 0 : 0x20),
      u16le(0),
      latin(`${entry}\0\0`),
    ])
    return Buffer.concat([Buffer.from([0x60, 0xea]), u16le(basic.length), basic, u32le(crc32(basic)), u16le(0), data])
  }
  return Buffer.concat([block(2, 'made.arj', Buffer.alloc(0)), block(0, name, bytes), Buffer.from([0x60, 0xea, 0, 0])])
}

export function lzh({ name, bytes }: File): Buffer {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1
  }
  const body = Buffer.concat([
    latin('-lh0-'),
    u32le(bytes.length),
    u32le(bytes.length),
    u32le(0x21 << 16),
    Buffer.from([0x20, 0, name.length]),
    latin(name),
    u16le(crc),
  ])
  const sum = body.reduce((total, byte) => (total + byte) & 0xff, 0)
  return Buffer.concat([Buffer.from([body.length, sum]), body, bytes, Buffer.from([0])])
}

/** Creates a xar archive, the format of macOS packages. */
export function xar({ name, bytes }: File): Buffer {
  const packed = deflateSync(bytes)
  const toc = latin(
    `<?xml version="1.0" encoding="UTF-8"?>\n<xar><toc><creation-time>2020-01-01T00:00:00</creation-time><file id="1"><data><length>${packed.length}</length><offset>0</offset>` +
      `<size>${bytes.length}</size><encoding style="application/x-gzip"/></data><type>file</type><name>${name}</name></file></toc></xar>`,
  )
  const packedToc = deflateSync(toc)
  const head = Buffer.concat([latin('xar!'), be(2, 28, 1), be(4, 0, packedToc.length, 0, toc.length, 0)])
  return Buffer.concat([head, packedToc, packed])
}

/** Compresses bytes like `compress` (.Z): LZW with 9-bit codes, whose table is cleared before the codes grow. */
export function compressed(bytes: Buffer): Buffer {
  const codes: number[] = []
  for (const [at, byte] of bytes.entries()) {
    // Clears the table early, because 9-bit codes allow 255 new entries. A group of eight codes is padded at each clear code.
    if (at > 0 && at % 200 === 0) {
      codes.push(256)
      while (codes.length % 8 !== 0) codes.push(0)
    }
    codes.push(byte)
  }
  const out = Buffer.alloc(Math.ceil((codes.length * 9) / 8))
  codes.forEach((code, index) => {
    for (let bit = 0; bit < 9; bit++) if (code & (1 << bit)) out[(index * 9 + bit) >> 3]! |= 1 << ((index * 9 + bit) & 7)
  })
  return Buffer.concat([Buffer.from([0x1f, 0x9d, 0x90]), out])
}

/** Creates a RAR 4 archive with one stored file. `closed` marks the file as encrypted, or replaces the directory with noise. */
export function rar4({ name, bytes }: File, { closed = '' as '' | 'file' | 'directory' } = {}): Buffer {
  const block = (type: number, flags: number, body: Buffer, data: Buffer = Buffer.alloc(0)) => {
    const rest = Buffer.concat([Buffer.from([type]), u16le(flags), u16le(7 + body.length), body])
    return Buffer.concat([u16le(crc32(rest) & 0xffff), rest, data])
  }
  const file = Buffer.concat([
    u32le(bytes.length),
    u32le(bytes.length),
    Buffer.from([3]),
    u32le(crc32(bytes)),
    u32le(0x21 << 16),
    Buffer.from([20, 0x30]),
    u16le(name.length),
    u32le(0o100644),
    latin(name),
  ])
  return Buffer.concat([
    latin('Rar!\x1a\x07\0'),
    block(0x73, closed === 'directory' ? 0x80 : 0, Buffer.alloc(6)),
    ...(closed === 'directory' ? [Buffer.alloc(200, 0xa7)] : [block(0x74, closed === 'file' ? 0x8004 : 0x8000, file, bytes)]),
    block(0x7b, 0x4000, Buffer.alloc(0)),
  ])
}

/** Creates a RAR 5 archive with one stored file. */
export function rar5(
  { name, bytes, method = 0 }: File & { method?: number },
  link?: { name: string; target: string; kind: 'symbolic' | 'hard' | 'copy' },
): Buffer {
  const vint = (value: number) => {
    const out: number[] = []
    for (let rest = value; ; rest >>>= 7) {
      if (rest < 0x80) return Buffer.from([...out, rest])
      out.push((rest & 0x7f) | 0x80)
    }
  }
  const block = (body: Buffer, data: Buffer = Buffer.alloc(0)) => {
    const sized = Buffer.concat([vint(body.length), body])
    return Buffer.concat([u32le(crc32(sized)), sized, data])
  }
  const file = Buffer.concat([
    Buffer.from([2, 2]),
    vint(bytes.length),
    Buffer.from([4]),
    vint(bytes.length),
    vint(0o100644),
    u32le(crc32(bytes)),
    vint(method << 7),
    Buffer.from([1]),
    vint(name.length),
    latin(name),
  ])
  const named = (text: string) => Buffer.concat([vint(text.length), latin(text)])
  const linkTo = ({ name: from, target, kind }: NonNullable<typeof link>) => {
    const extra = Buffer.concat([Buffer.from([5, { symbolic: 1, hard: 4, copy: 5 }[kind], 0]), named(target)])
    const redirection = Buffer.concat([vint(extra.length), extra])
    return Buffer.concat([
      Buffer.from([2, 3]),
      vint(redirection.length),
      Buffer.from([0, 4]),
      vint(kind === 'copy' ? bytes.length : target.length),
      vint(kind === 'symbolic' ? 0o120777 : 0o100644),
      u32le(kind === 'copy' ? crc32(bytes) : 0),
      Buffer.from([0, 1]),
      named(from),
      redirection,
    ])
  }
  return Buffer.concat([
    latin('Rar!\x1a\x07\x01\0'),
    block(Buffer.from([1, 0, 0])),
    block(file, bytes),
    ...(link ? [block(linkTo(link))] : []),
    block(Buffer.from([5, 0, 0])),
  ])
}

/** Creates a compressed Flash file with one block. */
export function swf(bytes: Buffer): Buffer {
  const tag = Buffer.concat([u16le((87 << 6) | 63), u32le(bytes.length + 6), u16le(1), u32le(0), bytes])
  const body = Buffer.concat([Buffer.from([0, 0, 24, 1, 0]), tag, u16le(0)])
  return Buffer.concat([latin('CWS\x06'), u32le(body.length + 8), deflateSync(body)])
}

/** Writes the format of COMPRESS.EXE without compressing the bytes. */
export function szdd(bytes: Buffer): Buffer {
  const groups: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 8) groups.push(Buffer.from([0xff]), bytes.subarray(at, at + 8))
  return Buffer.concat([Buffer.from([0x53, 0x5a, 0x44, 0x44, 0x88, 0xf0, 0x27, 0x33, 0x41, 0]), u32le(bytes.length), ...groups])
}

export function dmg(bytes: Buffer): Buffer {
  const disk = padded(bytes, 512)
  const sectors = disk.length / 512
  const u64 = (value: number) => be(4, 0, value)
  const run = (type: number, start: number, count: number, at: number, length: number) =>
    Buffer.concat([be(4, type, 0), u64(start), u64(count), u64(at), u64(length)])
  const block = Buffer.concat([
    latin('mish'),
    be(4, 1),
    u64(0),
    u64(sectors),
    u64(0),
    be(4, 0, 0),
    Buffer.alloc(24),
    Buffer.alloc(136),
    be(4, 2),
    run(0x80000005, 0, sectors, 0, packedLength(disk)),
    run(0xffffffff, sectors, 0, packedLength(disk), 0),
  ])
  const plist = latin(
    `<?xml version="1.0"?><plist version="1.0"><dict><key>resource-fork</key><dict><key>blkx</key><array><dict><key>Attributes</key><string>0x0050</string>` +
      `<key>Data</key><data>${block.toString('base64')}</data><key>ID</key><string>0</string><key>Name</key><string>disk</string></dict></array></dict></dict></plist>`,
  )
  const packed = deflateSync(disk)
  const trailer = Buffer.alloc(512)
  Buffer.concat([latin('koly'), be(4, 4, 512, 1), u64(0), u64(0), u64(packed.length), u64(0), u64(0), be(4, 1, 1)]).copy(trailer)
  Buffer.concat([u64(packed.length), u64(plist.length)]).copy(trailer, 216)
  be(4, 1).copy(trailer, 488)
  u64(sectors).copy(trailer, 492)
  return Buffer.concat([packed, plist, trailer])
}

export function cab({ name, bytes }: File): Buffer {
  const head = Buffer.concat([
    latin('MSCF'),
    u32le(0),
    u32le(36 + 8 + 16 + name.length + 1 + 8 + bytes.length),
    u32le(0),
    u32le(44),
    u32le(0),
    Buffer.from([3, 1]),
    u16le(1),
    u16le(1),
    Buffer.alloc(6),
  ])
  const folder = Buffer.concat([u32le(44 + 16 + name.length + 1), u16le(1), u16le(0)])
  const file = Buffer.concat([u32le(bytes.length), u32le(0), u16le(0), u16le(0x21), u16le(0), u16le(0x20), latin(`${name}\0`)])
  return Buffer.concat([head, folder, file, u32le(0), u16le(bytes.length), u16le(bytes.length), bytes])
}

const packedLength = (disk: Buffer) => deflateSync(disk).length

/** Creates a winmail.dat (TNEF) with one attachment, as sent by Outlook. */
export function tnef({ name, bytes }: File): Buffer {
  const attribute = (level: number, id: number, data: Buffer) => {
    const sum = data.reduce((total, byte) => (total + byte) & 0xffff, 0)
    return Buffer.concat([Buffer.from([level]), u32le(id), u32le(data.length), data, u16le(sum)])
  }
  return Buffer.concat([
    u32le(0x223e9f78),
    u16le(1),
    attribute(1, 0x00089006, u32le(0x00010000)),
    attribute(2, 0x00069002, Buffer.alloc(14)),
    attribute(2, 0x00018010, latin(`${name}\0`)),
    attribute(2, 0x0006800f, bytes),
  ])
}

/** Creates a OneNote section with one embedded file ([MS-ONESTORE] 2.6.13). */
export function oneNote(bytes: Buffer, { format = '3fdd9a101b91f549a5d01791edc8aed8', encrypted = false } = {}): Buffer {
  const head = Buffer.concat([
    Buffer.from('e4525c7b8cd8a74daeb15378d02996d3', 'hex'),
    Buffer.alloc(32),
    Buffer.from(format, 'hex'),
  ])
  const key = Buffer.from(encrypted ? '67a0d1da85a36bfb' : '', 'hex')
  const object = Buffer.from('e716e3bd65261145a4c48d4d0b7a9eac', 'hex')
  const footer = Buffer.from('22a7fb71790f0b4abb138992564264b2', 'hex')
  const facts = Buffer.concat([u32le(bytes.length), Buffer.alloc(16)])
  return Buffer.concat([head, Buffer.alloc(960), key, object, facts, bytes, footer])
}

export function alz({ name, bytes }: File): Buffer {
  const sizes = Buffer.concat([u32le(bytes.length), u32le(bytes.length)])
  return Buffer.concat([
    latin('ALZ\x01\x0a\0\0\0'),
    latin('BLZ\x01'),
    u16le(name.length),
    Buffer.from([0x20, 0, 0, 0, 0, 0x40, 0, 0, 0]),
    u32le(crc32(bytes)),
    sizes,
    latin(name),
    bytes,
    latin('CLZ\x01'),
    Buffer.alloc(8),
    latin('CLZ\x02'),
  ])
}

export function egg({ name, bytes }: File): Buffer {
  const end = u32le(0x08e28222)
  return Buffer.concat([
    ...[latin('EGGA'), u16le(0x0100), u32le(1), u32le(0), end],
    ...[u32le(0x0a8590e3), u32le(0), u32le(bytes.length), u32le(0)],
    ...[u32le(0x0a8591ac), Buffer.from([0]), u16le(name.length), latin(name), end],
    ...[u32le(0x02b50c13), Buffer.from([0, 0]), u32le(bytes.length), u32le(bytes.length), u32le(crc32(bytes)), end],
    bytes,
    end,
  ])
}
