import { mimeByExtension, rawPhotos, type TypeRow, textTypes, types } from './types.js'

export { types }

const genericExtensions = new Set(['bin', 'dat', 'data', 'raw', 'blob', 'tmp', 'bak', 'old', 'file', 'part', '001', 'z01', ''])
const programTypes = new Set(['exe', 'macho', 'class', 'wasm', 'lnk', 'chm', 'swf'])

/** Maps each extension to the type with the same name, otherwise to the first type that lists it. */
function mapExtensionsToTypes(table: Record<string, TypeRow>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [type, { extensions }] of Object.entries(table))
    for (const extension of extensions) if (!found.has(extension)) found.set(extension, type)
  for (const [type, { extensions }] of Object.entries(table)) if (extensions.includes(type)) found.set(type, type)
  return found
}
const binaryTypesByExtension = mapExtensionsToTypes(types)
for (const extension of rawPhotos.split(' ')) binaryTypesByExtension.set(extension, 'raw-photo')
const textTypesByExtension = mapExtensionsToTypes(textTypes)

export const getTextType = (extension: string): string | undefined => textTypesByExtension.get(extension)

/** True if browsers render text files with this extension and run their scripts. */
export const isWebPageExtension = (extension: string): boolean =>
  getTextType(extension) === 'html' || /^(xhtml|xht|mht|mhtml)$/.test(extension)

export const getBinaryType = (extension: string): string | undefined =>
  textTypesByExtension.has(extension) ? undefined : binaryTypesByExtension.get(extension)

export function isExtensionOfType(extension: string, type: string): boolean {
  if (genericExtensions.has(extension) || extension === type) return true
  if (types[type]?.extensions.includes(extension)) return true
  if (getBinaryType(extension) ?? getTextType(extension)) return false
  // An allowed extension of an unknown type accepts any content except programs.
  return !programTypes.has(type)
}

export function getMimeTypeByExtension(extension: string): string | null {
  if (genericExtensions.has(extension)) return null
  const fine = mimeByExtension[extension]
  if (fine) return fine
  const text = getTextType(extension)
  if (text) return textTypes[text]!.mime
  const binary = getBinaryType(extension)
  return binary ? types[binary]!.mime : null
}

const coarseTypes = new Set(['zip', 'ooxml', 'odf', 'ole', 'encrypted-ooxml', 'zip-damaged', 'ogx', 'iso-damaged'])

/** Returns the content type for a detected type. If the type has several content types, the extension decides. */
export function getMimeType(type: string, extension: string): string | null {
  const known = types[type] ?? textTypes[type]
  if (!known) return getMimeTypeByExtension(extension)
  const describesSameContent = known.extensions.includes(extension)
  const isCoarse = coarseTypes.has(type) && getTextType(extension) === undefined
  return (describesSameContent && (isCoarse || mimeByExtension[extension]) && getMimeTypeByExtension(extension)) || known.mime
}
