import type { OleStream } from '@assay/formats/office'
import { OleContainer, oleEncryption } from '@assay/formats/office'
import { endsAll } from '../yara/stopped.js'
import type { Inside } from './looker.js'

const chunkBytes = 64 * 1024

export const insideOle: Inside = async (source, look) => {
  const container = new OleContainer(source)
  const how = oleEncryption(container)
  if (how) look.incomplete(`an Office document that is encrypted (${how})`)
  let damage: unknown
  for (const entry of container.entries) {
    if (entry.kind !== 'stream') continue
    look.member(entry.name)
    try {
      await look.stream(chunksOf(container.open(entry)))
    } catch (error) {
      if (endsAll(error)) throw error
      damage ??= error
    }
  }
  if (damage) throw damage
}

async function* chunksOf(stream: OleStream): AsyncGenerator<Buffer> {
  for (let at = 0; at < stream.size; at += chunkBytes) yield stream.read(at, chunkBytes)
}
