// scripts/client.mjs bundles @assay/proofs into this module.
export { verifyFiles } from '@assay/proofs/verify-files'
