/** Readers of pictures: one file for each format. */
export { readBmp } from './bmp.js'
export { readGif } from './gif.js'
export { readAvif, readHeic } from './heif.js'
export { readJpeg } from './jpeg.js'
export { readPng } from './png.js'
export { readTiff } from './tiff.js'
export { readWebp } from './webp.js'
