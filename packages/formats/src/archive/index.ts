export { type Container, headLength, mayHold, recognise, recogniseTail, tailLength } from './containers.js'
export { isSmallArchive, smallLimits } from './small-archive.js'
export { readZipDirectory } from './zip/directory.js'
export { hidesZipDirectory } from './zip/encrypted-directory.js'
