export { readEncryption } from './encryption.js'
