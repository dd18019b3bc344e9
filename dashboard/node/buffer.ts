// `Buffer` for the browser. scripts/dashboard.mjs imports it into packages/proofs.
export { Buffer } from 'buffer/'
