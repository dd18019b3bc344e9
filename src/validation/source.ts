export { FileSource, MemorySource } from '../formats/random-access-source.js'
