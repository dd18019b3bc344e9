import PostalMime from 'postal-mime'
import { printable } from '../format-error.js'
import { MemorySource } from '../random-access-source.js'
import type { Opener } from './opener.js'

/** Decoding a message in memory takes several times its size. */
const maxBytes = 48 * 1024 * 1024

const options = { forceRfc822Attachments: true, attachmentEncoding: 'arraybuffer' } as const

/** Visits the decoded parts of a mail message, including nested messages. */
export const openMail: Opener = async (source, members) => {
  if (source.size > maxBytes) return members.addGap('limit', `it contains a mail message of more than ${maxBytes} bytes`)
  const mail = await PostalMime.parse(source.whole(maxBytes), options).catch((error: Error) => error)
  // Thrown only if the parts are nested too deep or the headers are too large.
  if (mail instanceof Error)
    return members.addGap('limit', `it contains a mail message that cannot be decoded (${printable(mail.message)})`)
  for (const text of [mail.text, mail.html]) if (text) await members.add(new MemorySource(Buffer.from(text)))
  for (const { filename, content } of mail.attachments) {
    members.begin(filename ?? '')
    await members.add(new MemorySource(typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer)))
  }
}
