export { OleContainer } from './ole/container.js'
export { detectOleEncryption } from './ole/encryption.js'
