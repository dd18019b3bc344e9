import { readFile } from 'node:fs/promises'
import { type Decoded, type DecodeTask, decodeImagesWith } from '@assay/formats/image'
import { getCurrentFilePath } from './reading.js'

export { read } from './reading.js'

interface DecoderModule {
  decodeImage(image: Buffer | string, task: DecodeTask): Promise<Decoded>
}

// Tests replace the decoder by setting a query parameter to the URL of a module that exports `decodeImage`.
const module = new URL(import.meta.url).searchParams.get('decoder')
const { decodeImage }: DecoderModule = await import(module ?? '@assay/formats/image/libvips')

decodeImagesWith(async (source, task) => {
  const path = getCurrentFilePath()
  if (path === undefined) return decodeImage(source.readAll(source.size), task)
  // Read the file here if its name ends with `]`, because libvips parses brackets at the end of a file name as options.
  return decodeImage(path.endsWith(']') ? await readFile(path) : path, task)
})
