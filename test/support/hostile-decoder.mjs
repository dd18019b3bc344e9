// Replaces libvips in the decoder process (`decoderModule`) and fails like native code. The last word of the file, after a valid
// TIFF, selects the failure.
import { pbkdf2 } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeImage as decodeForReal } from '../../packages/formats/dist/image/libvips.js'

const crash = () => process.kill(process.pid, 'SIGSEGV')

/** Blocks a libuv thread for hours like an endless codec while JavaScript continues. */
const blockThread = () => new Promise((resolve) => pbkdf2('a', 'b', 2 ** 31 - 1, 64, 'sha512', resolve))

const deeds = {
  crash: (image, task) => {
    const decoding = decodeForReal(image, task)
    setImmediate(crash)
    return decoding
  },
  crashonce: (image, task, mark) => {
    if (existsSync(mark)) return decodeForReal(image, task)
    writeFileSync(mark, '')
    return crash()
  },
  spin: blockThread,
  hoard: async () => {
    const held = []
    while (held.length < 40) {
      held.push(Buffer.alloc(16 * 1024 * 1024, 1))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return blockThread()
  },
  // Waits for a second concurrent image.
  hold: async (image, task, megabytes, meeting) => {
    writeFileSync(join(meeting, String(process.pid)), '')
    while (readdirSync(meeting).length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
    const held = Buffer.alloc(Number(megabytes) * 1024 * 1024, 1)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    return held.length > 0 ? decodeForReal(image, task) : undefined
  },
  tell: () => ({ outcome: 'refused', message: JSON.stringify({ env: Object.keys(process.env), options: process.execArgv }) }),
  shout: (image, task) => {
    for (let line = 0; line < 10_000; line++) process.stderr.write(`${'x'.repeat(100)}\n`)
    console.log('shouted')
    return decodeForReal(image, task)
  },
}

export async function decodeImage(image, task) {
  const bytes = typeof image === 'string' ? await readFile(image) : image
  const [deed, ...args] = bytes.subarray(-300).toString('latin1').split('do:').at(-1).split(' ')
  return (deeds[deed] ?? decodeForReal)(image, task, ...args)
}
