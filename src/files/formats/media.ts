/** Readers of sound and film: one file for each format. */
export { readAac } from './media-aac.js'
export { readFlac } from './media-flac.js'
export { readMp3 } from './media-mp3.js'
export { readMp4 } from './media-mp4.js'
export { readOgg } from './media-ogg.js'
export { readWav } from './media-wav.js'
export { readWebm } from './media-webm.js'
