export { type PdfEncryption, readEncryption } from './encryption.js'
export { filters, flateFilters, mostDecoded } from './filters.js'
export { type PdfStream, streamsOf } from './streams.js'
