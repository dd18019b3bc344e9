import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Decoded, DecodeTask } from '../formats/image/vips.js'

/** One question to the process: about the file that comes along or, without one, about the file that came last. */
export interface ImageQuestion {
  bytes?: Uint8Array
  path?: string
  task: DecodeTask
}

export type ImageAnswer = { ready: true } | { decoded: Decoded }

interface DecoderModule {
  decodeImage(image: Buffer | string, task: DecodeTask): Promise<Decoded>
}

const send = (answer: ImageAnswer) => process.send?.(answer)

// Nobody is left to ask, whatever happened to the service. Not exit(), which waits for a decode under way.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// A terminal and a service manager signal all processes at once. The service still lets uploads finish, and ends this one then.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

try {
  // Where memory runs out, the kernel is to take this process and not the service.
  writeFileSync('/proc/self/oom_score_adj', '800')
} catch {
  // Not Linux, or not allowed.
}

const [, , replacement] = process.argv
const decoder: Promise<DecoderModule> = import(replacement ?? '../formats/image/libvips.js')
let image: Buffer | string = ''

process.on('message', async ({ bytes, path, task }: ImageQuestion) => {
  if (bytes) image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // libvips takes what stands in brackets at the end of a name for options.
  if (path) image = path.endsWith(']') ? await readFile(path) : path
  send({ decoded: await (await decoder).decodeImage(image, task) })
})

await decoder
send({ ready: true })
