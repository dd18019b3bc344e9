export { type Decoded, type DecodeTask, decodeImagesWith } from './image-decoder.js'
export { isProgressive } from './jpeg.js'
