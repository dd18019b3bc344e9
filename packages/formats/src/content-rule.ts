import type { Recognition } from './detect/detect.js'
import type { RandomAccessSource } from './random-access-source.js'
import { getBinaryType } from './readers.js'

/**
 * Extensions that unrelated formats also use, such as .com (DOS program), .lib (SPICE library) and .hdr (ENVI header). Files with
 * these extensions may have any content.
 */
export const sharedExtensions: ReadonlySet<string> = new Set('bin bundle com db gpr hdr lib nib o prn scr so spc sys'.split(' '))

/**
 * Types with variants that have no signature, such as raw disk images. Such files may contain unrecognized binary content, but
 * not text.
 */
export const typesWithoutSignature: ReadonlySet<string> = new Set('dbf dmg iso mpg mts tga'.split(' '))

/**
 * Extensions of formats that have a signature only in some versions. Such files may contain unrecognized binary content, but not
 * text.
 */
export const extensionsWithoutSignature: ReadonlySet<string> = new Set('hwp msu qbw rev sldasm slddrw sldprt wps'.split(' '))

/**
 * Patterns that identify text files whose extension belongs to a binary type. For example, a .pub file can be a Publisher
 * document or a public key.
 */
const textForms: Record<string, RegExp> = {
  der: /-----BEGIN |^(?:MIME-Version|Content-Type):|^[A-Za-z0-9+/=\r\n]{64,}$/im,
  ps: /%!/,
  eps: /^%!/,
  pub: /^(ssh-|ecdsa-|sk-|(from|command|no-|restrict)\S* |---- BEGIN SSH2|-----BEGIN |untrusted comment:)/m,
}

/**
 * Returns whether the extension accepts content without a known signature. Unknown and shared extensions accept any content.
 * Binary types accept text only if it matches a pattern in `textForms`, and other content only if a variant of the type has no
 * signature.
 */
export function isSignatureOptional(source: RandomAccessSource, { kind }: Recognition): boolean {
  const { extension } = source
  const type = getBinaryType(extension)
  if (type === undefined || kind === 'empty' || sharedExtensions.has(extension)) return true
  if (kind !== 'text') return typesWithoutSignature.has(type) || extensionsWithoutSignature.has(extension)
  return textForms[type]?.test(source.read(0, 4096).toString('latin1')) ?? false
}
