// Provides `Buffer` in browsers. scripts/dashboard.mjs adds this import to the modules of packages/proofs.
export { Buffer } from 'buffer/'
