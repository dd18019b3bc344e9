import { MemorySource } from '@assay/formats'
import PostalMime from 'postal-mime'
import { shown } from '../../../platform/errors/errors.js'
import type { Inside } from './looker.js'

/** A message is held and decoded as a whole, which takes some times its size. */
const mostBytes = 48 * 1024 * 1024

const options = { forceRfc822Attachments: true, attachmentEncoding: 'arraybuffer' } as const

/** The parts of a mail message, in base64 or quoted-printable as they may be, and messages in it. */
export const insideMail: Inside = async (source, look) => {
  if (source.size > mostBytes) return look.incomplete(`it holds a mail message of more than ${mostBytes} bytes`)
  const mail = await PostalMime.parse(source.whole(mostBytes), options).catch((error: Error) => error)
  // Only where its parts or its headers go beyond all measure.
  if (mail instanceof Error) return look.incomplete(`it holds a mail message that cannot be decoded (${shown(mail.message)})`)
  for (const text of [mail.text, mail.html]) if (text) await look.part(new MemorySource(Buffer.from(text)))
  for (const { filename, content } of mail.attachments) {
    look.member(filename ?? '')
    await look.part(new MemorySource(typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer)))
  }
}
