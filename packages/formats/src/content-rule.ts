import type { Recognition } from './detect/detect.js'
import type { RandomAccessSource } from './random-access-source.js'
import { getBinaryType } from './readers.js'

/**
 * Extensions that unrelated formats also use, such as .com (DOS program), .lib (SPICE library) and .hdr (ENVI header). Their
 * files may have any content.
 */
export const sharedExtensions: ReadonlySet<string> = new Set('bin bundle com db gpr hdr lib nib o prn scr so spc sys'.split(' '))

/**
 * Types with variants that have no signature, such as raw disk images. Their files may contain unrecognized binary content, but
 * not text.
 */
export const typesWithoutSignature: ReadonlySet<string> = new Set('dbf dmg iso mpg mts tga'.split(' '))

/**
 * Extensions of formats that have a signature only in some versions. Their files may contain unrecognized binary content, but not
 * text.
 */
export const extensionsWithoutSignature: ReadonlySet<string> = new Set('hwp msu qbw rev sldasm slddrw sldprt wps'.split(' '))

/**
 * Patterns of text files that share their extension with a binary type. For example, a .pub file is either a Publisher document
 * or a public key.
 */
const textForms: Record<string, RegExp> = {
  der: /-----BEGIN |^(?:MIME-Version|Content-Type):|^[A-Za-z0-9+/=\r\n]{64,}$/im,
  ps: /%!/,
  eps: /^%!/,
  pub: /^(ssh-|ecdsa-|sk-|(from|command|no-|restrict)\S* |---- BEGIN SSH2|-----BEGIN |untrusted comment:)/m,
}

/**
 * Returns whether the extension accepts content without a known signature. Unknown extensions accept any content. Binary types
 * reject text, and accept other content only if a variant of the type has no signature.
 */
export function isSignatureOptional(source: RandomAccessSource, { kind }: Recognition): boolean {
  const { extension } = source
  const type = getBinaryType(extension)
  if (type === undefined || kind === 'empty' || sharedExtensions.has(extension)) return true
  if (kind !== 'text') return typesWithoutSignature.has(type) || extensionsWithoutSignature.has(extension)
  return textForms[type]?.test(source.read(0, 4096).toString('latin1')) ?? false
}
