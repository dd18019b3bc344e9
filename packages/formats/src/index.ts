export { sharedExtensions } from './content-rule.js'
export type { Recognition } from './detect/detect.js'
export {
  checkDeadline,
  createCountedDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createValidVerdict,
  DeadlineExceeded,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
  withDeadline,
} from './format.js'
export { FormatError } from './format-error.js'
export {
  type Detection,
  defaultLimits,
  detect,
  type Examination,
  examine,
  type Inspection,
  inspect,
  openDetected,
} from './inspect.js'
export type { MemberObserver } from './member-observer.js'
export { detectPolyglot } from './polyglot.js'
export { FileSource, MemorySource, type RandomAccessSource, TooLarge, WindowSource } from './random-access-source.js'
export {
  getBinaryType,
  getMimeType,
  getMimeTypeByExtension,
  getReaderNameByType,
  getTextType,
  isExtensionOfType,
  loadReader,
} from './readers.js'
export { textTypes, types } from './types.js'
