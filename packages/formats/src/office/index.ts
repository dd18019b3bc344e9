export { OleContainer } from './ole/container.js'
export { oleEncryption } from './ole/encryption.js'
