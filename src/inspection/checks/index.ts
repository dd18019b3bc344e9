import { type BlockReason, blockReasons } from '../../platform/errors/block-reasons.js'
import { blank } from './blank.js'
import type { Check } from './check.js'
import { corrupt } from './corrupt.js'
import { extension } from './extension.js'
import { size } from './size.js'
import { virus } from './virus.js'

/** The checks, by the reason that each decides. A new reason does not compile until it has one. */
const checks: Record<BlockReason, Check> = {
  invalid_extension: extension,
  size_exceeded: size,
  blank_file: blank,
  corrupt_file: corrupt,
  virus_detected: virus,
}

/** In the order in which they are judged (contract §6). */
export const orderedChecks: readonly [BlockReason, Check][] = blockReasons.map((reason) => [reason, checks[reason]])
