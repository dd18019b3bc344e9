// The build includes @assay/proofs in this module (scripts/client.mjs).
export { verifyFiles } from '@assay/proofs/verify-files'
