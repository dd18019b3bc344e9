// `Buffer` for browsers. scripts/dashboard.mjs adds the import to the modules of packages/proofs.
export { Buffer } from 'buffer/'
