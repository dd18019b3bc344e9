import { type ByteStream, SourceStream } from '../archive/byte-stream.js'
import { walkTar } from '../archive/tar/walk.js'
import type { Members, Opener } from './opener.js'

export async function openTarStream(stream: ByteStream, members: Members): Promise<void> {
  let damage: unknown
  await walkTar(stream, {
    step: members.step,
    member: ({ name }) => members.begin(name),
    data: async ({ size }, data) => members.addStream(data.take(size)),
    onError: (error) => {
      damage ??= error
    },
  })
  if (damage) throw damage
}

export const openTar: Opener = (source, members) => openTarStream(new SourceStream(source), members)
