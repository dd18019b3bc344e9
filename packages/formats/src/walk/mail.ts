import PostalMime from 'postal-mime'
import { toPrintable } from '../format-error.js'
import { MemorySource } from '../random-access-source.js'
import type { Members, Opener } from './opener.js'

/** Maximum message size in bytes. Decoding a message needs several times its size in memory. */
const maxBytes = 48 * 1024 * 1024

const options = { forceRfc822Attachments: true, attachmentEncoding: 'arraybuffer' } as const

/** Visits the decoded parts of a mail message, including nested messages. */
export const openMail: Opener = async (source, members) => {
  if (source.size > maxBytes) return members.reportUnscannedPart('limit', `a mail message is larger than ${maxBytes} bytes`)
  const mail = await PostalMime.parse(removeByteOrderMark(source.readAll(maxBytes)), options).catch((error: Error) => error)
  // The parser throws only if parts are nested too deeply or headers are too large, so the cause is always a limit.
  if (mail instanceof Error)
    return members.reportUnscannedPart('limit', `a mail message cannot be decoded (${toPrintable(mail.message)})`)
  for (const text of [mail.text, mail.html]) if (text) await addMailPart(Buffer.from(text), members)
  for (const { filename, content } of mail.attachments) {
    members.beginMember(filename ?? '')
    await addMailPart(typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer), members)
  }
}

const byteOrderMark = Buffer.from('\ufeff')

function removeByteOrderMark(bytes: Buffer): Buffer {
  const { length } = byteOrderMark
  return bytes.subarray(0, length).equals(byteOrderMark) ? bytes.subarray(length) : bytes
}

/** Visits a part and the uuencoded files in it. */
async function addMailPart(bytes: Buffer, members: Members): Promise<void> {
  await members.addContent(new MemorySource(bytes))
  for (const { name, data } of decodeUuencodedFiles(bytes)) {
    members.beginMember(name)
    await members.addContent(new MemorySource(data))
  }
}

const firstLine = /^begin [0-7]{3,4} ([^\r\n]+)\r?\n/gm

/**
 * Decodes uuencoded files in text (POSIX uuencode). Each line consists of its length and four characters for every three bytes.
 */
function* decodeUuencodedFiles(part: Buffer): Generator<{ name: string; data: Buffer }> {
  if (!part.includes('begin ')) return
  const text = part.toString('latin1')
  for (const match of text.matchAll(firstLine)) {
    const lines: Buffer[] = []
    for (let at = match.index + match[0].length; at < text.length; ) {
      const end = text.indexOf('\n', at)
      const line = text.slice(at, end < 0 ? text.length : end)
      if (/^(?:end|`|begin )/.test(line)) break
      lines.push(decodeUuencodedLine(line))
      at = end < 0 ? text.length : end + 1
    }
    yield { name: match[1]!, data: Buffer.concat(lines) }
  }
}

function decodeUuencodedLine(line: string): Buffer {
  const length = (line.charCodeAt(0) - 32) & 63
  const decodeCharacter = (offset: number) => ((line.charCodeAt(offset) || 32) - 32) & 63
  const bytes = Buffer.alloc(Math.ceil(length / 3) * 3)
  for (let at = 0, from = 1; at < bytes.length; at += 3, from += 4) {
    const group =
      (decodeCharacter(from) << 18) |
      (decodeCharacter(from + 1) << 12) |
      (decodeCharacter(from + 2) << 6) |
      decodeCharacter(from + 3)
    bytes.writeUIntBE(group, at, 3)
  }
  return bytes.subarray(0, length)
}
