import { toCamelCase } from '../case-conversion.js'

interface BlockReasonRow {
  status: 413 | 422
  meaning: string
}

/** Reasons to reject a file, in the order of the checks. docs/extending.md explains how to add one. */
const rows = {
  invalid_extension: { status: 422, meaning: 'The extension is not allowed, or does not match the content.' },
  size_exceeded: { status: 413, meaning: 'The file is larger than the context allows.' },
  blank_file: { status: 422, meaning: 'The file is empty, or contains only whitespace, NUL bytes and byte-order marks.' },
  corrupt_file: { status: 422, meaning: 'The file is too damaged for common programs to open, or it was maliciously crafted.' },
  virus_detected: { status: 422, meaning: 'The scanner found a virus.' },
} as const satisfies Record<string, BlockReasonRow>

export type BlockReason = keyof typeof rows

/** Rejections by a context's policy. Each has its own error code, but statistics count it under `countedAs`. */
export const policyRejections = {
  encrypted_file: { countedAs: 'corrupt_file', status: 422, meaning: 'The file requires a password.' },
  active_content: {
    countedAs: 'corrupt_file',
    status: 422,
    meaning: 'The file contains active content, such as macros, scripts, programs or attachments.',
  },
} as const satisfies Record<string, BlockReasonRow & { countedAs: BlockReason }>

export type PolicyRejection = keyof typeof policyRejections

/** Returns the reason under which statistics count a rejection. Undefined if `reason` is not a verdict on the file. */
export const toBlockReason = (reason: string): BlockReason | undefined =>
  Object.hasOwn(rows, reason) ? (reason as BlockReason) : policyRejections[reason as PolicyRejection]?.countedAs

export const blockReasonRows: Readonly<Record<BlockReason, BlockReasonRow>> = rows

/** Names of the reasons, in the order of the checks. The counter columns have the same names. */
export const blockReasons = Object.keys(rows) as readonly BlockReason[]

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
export type BlockReasonField = CamelCase<BlockReason>

/** Returns the GraphQL field name of a reason, such as `blankFile`. */
export const toReasonField = (reason: BlockReason): BlockReasonField => toCamelCase(reason) as BlockReasonField
