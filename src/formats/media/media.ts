/** Readers of sound and film: one file for each format. */
export { readAac } from './aac.js'
export { readFlac } from './flac.js'
export { readMp3 } from './mp3.js'
export { readMp4 } from './mp4.js'
export { readOgg } from './ogg.js'
export { readWav } from './wav.js'
export { readWebm } from './webm.js'
