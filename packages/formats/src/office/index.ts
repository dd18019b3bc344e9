export { OleContainer } from './ole/container.js'
export { oleEncryption } from './ole/encryption.js'
export type { OleStream } from './ole/stream.js'
