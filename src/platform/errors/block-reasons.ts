import { camelCase } from '../case-conversion.js'

interface BlockReasonRow {
  status: 413 | 422
  meaning: string
}

/**
 * Why a file is refused (contract, section 6), in the order in which it is judged. A new reason is a row here, a check in
 * src/inspection/checks.ts, and what `npm run migration:reason` writes; codes, statuses, the schemas and the statistics follow.
 */
const rows = {
  invalid_extension: { status: 422, meaning: 'the extension is not allowed, or the content has another type.' },
  size_exceeded: { status: 413, meaning: 'the file is larger than the context allows.' },
  blank_file: { status: 422, meaning: 'the file is empty, or contains only whitespace, NUL and byte-order marks.' },
  corrupt_file: { status: 422, meaning: 'common programs cannot open the file, or it is a malicious construction.' },
  virus_detected: { status: 422, meaning: 'the scanner found a virus.' },
} as const satisfies Record<string, BlockReasonRow>

export type BlockReason = keyof typeof rows

/** Refusals that a context's policy asks for: each has a code of its own, and is counted as the reason whose check finds it. */
export const policyRefusals = {
  encrypted_file: { countedAs: 'corrupt_file', status: 422, meaning: 'the file needs a password to open.' },
  active_content: {
    countedAs: 'corrupt_file',
    status: 422,
    meaning: 'the file contains active content, such as macros, scripts, programs or attachments.',
  },
} as const satisfies Record<string, BlockReasonRow & { countedAs: BlockReason }>

export type PolicyRefusal = keyof typeof policyRefusals

/** The reason that a refusal is counted as; undefined where it is no verdict on the file. */
export const countedAs = (reason: string): BlockReason | undefined =>
  Object.hasOwn(rows, reason) ? (reason as BlockReason) : policyRefusals[reason as PolicyRefusal]?.countedAs

export const blockReasonRows: Readonly<Record<BlockReason, BlockReasonRow>> = rows

/** In the order in which they are judged; also the columns that count them. */
export const blockReasons = Object.keys(rows) as readonly BlockReason[]

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name
export type BlockReasonField = Camel<BlockReason>

/** As GraphQL spells it: blank_file is blankFile. */
export const fieldOfReason = (reason: BlockReason): BlockReasonField => camelCase(reason) as BlockReasonField
