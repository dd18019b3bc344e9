import { type ByteStream, SourceStream, walkTar } from '@assay/formats/archive'
import type { Inside, Looker } from './looker.js'

export async function insideTarStream(stream: ByteStream, look: Looker): Promise<void> {
  let damage: unknown
  await walkTar(stream, {
    step: look.step,
    member: ({ name }) => look.member(name),
    data: async ({ size }, data) => look.stream(data.take(size)),
    fault: (fault) => {
      damage ??= fault
    },
  })
  if (damage) throw damage
}

export const insideTar: Inside = (source, look) => insideTarStream(new SourceStream(source), look)
