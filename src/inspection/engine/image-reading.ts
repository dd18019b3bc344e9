import { readFile } from 'node:fs/promises'
import { type Decoded, type DecodeTask, decodeImagesWith } from '@assay/formats/image'
import { currentPath } from './reading.js'

export { read } from './reading.js'

interface DecoderModule {
  decodeImage(image: Buffer | string, task: DecodeTask): Promise<Decoded>
}

// Tests pass the URL of a module with an export `decodeImage`.
const module = new URL(import.meta.url).searchParams.get('decoder')
const { decodeImage }: DecoderModule = await import(module ?? '@assay/formats/image/libvips')

decodeImagesWith(async (source, task) => {
  const path = currentPath()
  if (path === undefined) return decodeImage(source.whole(source.size), task)
  // libvips reads brackets at the end of a file name as options.
  return decodeImage(path.endsWith(']') ? await readFile(path) : path, task)
})
