export {
  type Container,
  detectContainer,
  detectContainerAtEnd,
  headLength,
  mayContainContainer,
  tailLength,
} from './containers.js'
export { isSmallArchive, smallLimits } from './small-archive.js'
export { readZipDirectory } from './zip/directory.js'
export { hasEncryptedZipDirectory } from './zip/encrypted-directory.js'
