export { listZipEntries, type ZipEntry } from './zip-directory.js'
