import { OleContainer } from '../office/ole/container.js'
import { detectOleEncryption } from '../office/ole/encryption.js'
import type { OleStream } from '../office/ole/stream.js'
import type { Opener } from './opener.js'
import { WalkEnded } from './visitor.js'

const chunkBytes = 64 * 1024

export const openOle: Opener = async (source, members) => {
  const container = new OleContainer(source)
  const how = detectOleEncryption(container)
  if (how) members.reportUnscannedPart('encrypted', `an Office document is encrypted (${how})`)
  let damage: unknown
  for (const entry of container.entries) {
    if (entry.kind !== 'stream') continue
    members.beginMember(entry.name)
    try {
      await members.addStream(readChunks(container.openStream(entry)))
    } catch (error) {
      if (error instanceof WalkEnded) throw error
      damage ??= error
    }
  }
  if (damage) throw damage
}

async function* readChunks(stream: OleStream): AsyncGenerator<Buffer> {
  for (let at = 0; at < stream.size; at += chunkBytes) yield stream.read(at, chunkBytes)
}
