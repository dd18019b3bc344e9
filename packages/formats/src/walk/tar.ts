import { type ByteStream, SourceStream } from '../archive/byte-stream.js'
import { walkTar } from '../archive/tar/walk.js'
import type { Members, Opener } from './opener.js'

export async function openTarStream(stream: ByteStream, members: Members): Promise<void> {
  let damage: unknown
  await walkTar(stream, {
    step: members.step,
    onMember: ({ name }) => members.beginMember(name),
    onData: async ({ size }, data) => members.addStream(data.readChunks(size)),
    onError: (error) => {
      damage ??= error
    },
  })
  if (damage) throw damage
}

export const openTar: Opener = (source, members) => openTarStream(new SourceStream(source), members)
