import { finerMime, rawPhotos, type TypeRow, textTypes, types } from './types.js'

export { types }

const anything = new Set(['bin', 'dat', 'data', 'raw', 'blob', 'tmp', 'bak', 'old', 'file', 'part', '001', 'z01', ''])
const programs = new Set(['exe', 'macho', 'class', 'wasm', 'lnk', 'chm', 'swf'])

/** Extension to type: the first row that names it, but a type's own name wins over a row that merely may be called so. */
function ownTypes(table: Record<string, TypeRow>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [type, { extensions }] of Object.entries(table))
    for (const extension of extensions) if (!found.has(extension)) found.set(extension, type)
  for (const [type, { extensions }] of Object.entries(table)) if (extensions.includes(type)) found.set(type, type)
  return found
}
const binaryTypeOf = ownTypes(types)
for (const extension of rawPhotos.split(' ')) binaryTypeOf.set(extension, 'raw-photo')
const textTypeOf = ownTypes(textTypes)

export const textTypeFor = (extension: string): string | undefined => textTypeOf.get(extension)

/** Whether browsers open a text file with this extension and run its scripts. */
export const isPage = (extension: string): boolean =>
  textTypeFor(extension) === 'html' || /^(xhtml|xht|mht|mhtml)$/.test(extension)

export const binaryTypeFor = (extension: string): string | undefined =>
  textTypeOf.has(extension) ? undefined : binaryTypeOf.get(extension)

export function standsFor(extension: string, type: string): boolean {
  if (anything.has(extension) || extension === type) return true
  if (types[type]?.extensions.includes(extension)) return true
  if (binaryTypeFor(extension) ?? textTypeFor(extension)) return false
  // An extension that we do not know stands for what it is: its operator allowed it. Programs are nothing that it may turn out to be.
  return !programs.has(type)
}

export function mimeOfExtension(extension: string): string | null {
  if (anything.has(extension)) return null
  const fine = finerMime[extension]
  if (fine) return fine
  const text = textTypeFor(extension)
  if (text) return textTypes[text]!.mime
  const binary = binaryTypeFor(extension)
  return binary ? types[binary]!.mime : null
}

const coarse = new Set(['zip', 'ooxml', 'odf', 'ole', 'encrypted-ooxml', 'zip-damaged', 'ogx', 'iso-damaged'])

/** The content type of a file recognised as `type` and called `extension`: the finer of the two where they agree. */
export function mimeOf(type: string, extension: string): string | null {
  const known = types[type] ?? textTypes[type]
  if (!known) return mimeOfExtension(extension)
  const agrees = known.extensions.includes(extension)
  return (agrees && (coarse.has(type) || finerMime[extension]) && mimeOfExtension(extension)) || known.mime
}
