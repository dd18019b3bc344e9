import type { Recognition } from './detect/detect.js'
import { binaryTypeFor } from './extensions.js'
import type { RandomAccessSource } from './random-access-source.js'

/**
 * Extensions of binary types that are shared with other formats. They accept any content: DOS programs and CONFIG.SYS, SPICE libraries,
 * linker scripts, other object files, ENVI headers, interface files, AutoCAD scripts, printer data, GNAT projects, databases.
 */
export const sharedExtensions: ReadonlySet<string> = new Set('bin bundle com db gpr hdr lib nib o prn scr so spc sys'.split(' '))

/** Types with variants that have no known signature, such as raw disk images. They accept unknown content, but not text. */
export const typesWithoutSignature: ReadonlySet<string> = new Set('dbf dmg iso mpg mts tga'.split(' '))

/** Extensions whose files have a signature only in some versions of a program. They accept unknown content, but not text. */
export const extensionsWithoutSignature: ReadonlySet<string> = new Set('hwp msu qbw rev sldasm slddrw sldprt wps'.split(' '))

/** Types and extensions whose files may be text. For example, a .pub file is a Publisher document or a public key. */
const textForms: Record<string, RegExp> = {
  der: /-----BEGIN |^(?:MIME-Version|Content-Type):|^[A-Za-z0-9+/=\r\n]{64,}$/im,
  ps: /%!/,
  eps: /^%!/,
  pub: /^(ssh-|ecdsa-|sk-|(from|command|no-|restrict)\S* |---- BEGIN SSH2|-----BEGIN |untrusted comment:)/m,
}

/**
 * True if a file without a recognised signature may have its extension. A binary type accepts no text, and unknown content only
 * if the type has variants without a signature. Extensions of unknown types accept any content.
 */
export function acceptsWithoutSignature(source: RandomAccessSource, { kind }: Recognition): boolean {
  const { extension } = source
  const type = binaryTypeFor(extension)
  if (type === undefined || kind === 'empty' || sharedExtensions.has(extension)) return true
  if (kind !== 'text') return typesWithoutSignature.has(type) || extensionsWithoutSignature.has(extension)
  return textForms[type]?.test(source.read(0, 4096).toString('latin1')) ?? false
}
