export { toCanonicalJson } from './canonical-json.js'
export { checkReceipt, extractReceipt, type Finding, parseKeySet, type VerificationKey } from './check-receipt.js'
export { type Checkpoint, formatCheckpoint, parseCheckpoint } from './checkpoint.js'
export {
  computeCompleteSubtreeRoot,
  computeRoot,
  getSiblingSubtrees,
  getStoredHashes,
  hashLeaf,
  type Range,
  type StoredHashes,
} from './merkle.js'
export { getLogOrigin, type Receipt, signReceipt } from './receipt.js'
export { formatVerifierKey, isSignedBy, parseNote, signNote } from './signed-note.js'
export { encodeEntryBundle, parseTilePath, type TilePath, tileWidth } from './tiles.js'
