import { openNest } from '../archive/archive.js'
import { decided } from '../archive/refusal.js'
import { checkZip } from '../archive/zip/check.js'
import { testOtherMethods } from '../archive/zip/other-methods.js'
import { type FormatReader, sound } from '../format.js'

/** Java archives: a sound zip; the manifest is optional. */
export const readJar: FormatReader = (source, limits) =>
  decided(async () => {
    const nest = openNest(source, limits)
    let manifest = false
    const facts = await checkZip(source, nest, ({ name }) => {
      manifest ||= name.toUpperCase() === 'META-INF/MANIFEST.MF'
      return undefined
    })
    await testOtherMethods(source, facts, nest)
    return sound(manifest ? nest.notes : [...nest.notes, 'the archive has no manifest'], {
      entries: facts.entries,
      unpacked_bytes: facts.unpackedBytes,
    })
  })
