import { camelCase } from '../case-conversion.js'

interface BlockReasonRow {
  status: 413 | 422
  meaning: string
}

/**
 * Reasons to reject a file, in the order of the checks. A new reason needs a row here, a check in src/inspection/checks.ts, and the output
 * of `npm run migration:reason`. Codes, statuses, schemas and statistics are derived from these rows.
 */
const rows = {
  invalid_extension: { status: 422, meaning: 'the extension is not allowed, or the content has another type.' },
  size_exceeded: { status: 413, meaning: 'the file is larger than the context allows.' },
  blank_file: { status: 422, meaning: 'the file is empty, or contains only whitespace, NUL and byte-order marks.' },
  corrupt_file: { status: 422, meaning: 'common programs cannot open the file, or it is a malicious construction.' },
  virus_detected: { status: 422, meaning: 'the scanner found a virus.' },
} as const satisfies Record<string, BlockReasonRow>

export type BlockReason = keyof typeof rows

/** Rejections required by the policy of a context. Each has its own code and counts as the reason of its check. */
export const policyRejections = {
  encrypted_file: { countedAs: 'corrupt_file', status: 422, meaning: 'the file needs a password to open.' },
  active_content: {
    countedAs: 'corrupt_file',
    status: 422,
    meaning: 'the file contains active content, such as macros, scripts, programs or attachments.',
  },
} as const satisfies Record<string, BlockReasonRow & { countedAs: BlockReason }>

export type PolicyRejection = keyof typeof policyRejections

/** Reason that a rejection counts as. Undefined if the code is not a verdict on the file. */
export const toBlockReason = (reason: string): BlockReason | undefined =>
  Object.hasOwn(rows, reason) ? (reason as BlockReason) : policyRejections[reason as PolicyRejection]?.countedAs

export const blockReasonRows: Readonly<Record<BlockReason, BlockReasonRow>> = rows

/** Names of the reasons in the order of the checks. They are also the names of the counter columns. */
export const blockReasons = Object.keys(rows) as readonly BlockReason[]

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
export type BlockReasonField = CamelCase<BlockReason>

/** Name of the reason in GraphQL, such as `blankFile`. */
export const reasonField = (reason: BlockReason): BlockReasonField => camelCase(reason) as BlockReasonField
