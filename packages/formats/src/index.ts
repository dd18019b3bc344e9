export { sharedExtensions } from './content-rule.js'
export type { Recognition } from './detect/detect.js'
export { binaryTypeFor, isExtensionFor, isPage, mimeOf, mimeOfExtension, textTypeFor, types } from './extensions.js'
export {
  broken,
  checkDeadline,
  countedDeadline,
  DeadlineExceeded,
  type FormatReader,
  type FormatVerdict,
  maliciousVerdict,
  type ReaderLimits,
  sound,
} from './format.js'
export { FormatError } from './format-error.js'
export {
  checkWithoutReader,
  type Detection,
  defaultLimits,
  detect,
  type Inspection,
  inspect,
  openDetected,
} from './inspect.js'
export type { MemberObserver } from './member-observer.js'
export { polyglot } from './polyglot.js'
export { FileSource, MemorySource, type RandomAccessSource, TooLarge, WindowSource } from './random-access-source.js'
export { loadReader, readerName, readerOf } from './readers.js'
export { textTypes } from './types.js'
