export { plainBytes } from './text.js'
