/** Readers of pictures: one file for each format. */
export { readBmp } from './image-bmp.js'
export { readGif } from './image-gif.js'
export { readAvif, readHeic } from './image-heif.js'
export { readJpeg } from './image-jpeg.js'
export { readPng } from './image-png.js'
export { readTiff } from './image-tiff.js'
export { readWebp } from './image-webp.js'
