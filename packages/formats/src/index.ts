export { sharedExtensions } from './content-rule.js'
export type { Recognition } from './detect/detect.js'
export {
  getBinaryType,
  getMimeType,
  getMimeTypeByExtension,
  getTextType,
  isExtensionOfType,
  types,
} from './extensions.js'
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
export { getReaderNameByType, loadReader } from './readers.js'
export { textTypes } from './types.js'
