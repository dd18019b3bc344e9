export { isProgressive } from './jpeg.js'
export { type Decoded, type DecodeTask, decodeImagesWith } from './vips.js'
