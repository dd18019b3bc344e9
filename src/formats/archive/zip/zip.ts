export { listZipEntries, type ZipEntry } from './directory.js'
