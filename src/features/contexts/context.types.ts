import { Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { pageType } from '../../api/graphql/page.js'
import { Flag, Line, Metadata, NotNull, Optional, Prose, Rule, Whole } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'
import { templateFault } from './storage-path.js'

/** Whether a context takes uploads (contract §3). */
export const ContextStatus = enumOf('ContextStatus', 'Whether a context takes uploads.', {
  active: 'It takes uploads.',
  disabled: 'It takes none; its files stay.',
})
export type ContextStatus = keyof typeof ContextStatus

@ObjectType({
  implements: Node,
  simpleResolvers: true,
  description: 'A set of upload rules, and the place of the files that passed them.',
})
export class FileContext {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape ctx_….' })
  contextId!: string
  @Field(() => String, { description: 'Its name in paths and upload forms; unique in the tenant, never changes.' })
  contextKey!: string
  @Field(() => ID, { description: 'Whose it is: shape ten_….' })
  tenantId!: string
  @Field(() => String, { description: 'Its name for people.' })
  displayName!: string
  @Field(() => String, { description: 'What it is for.' })
  description!: string
  @Field(() => [String], { description: 'Extensions without the dot, in lower case.' })
  allowedExtensions!: string[]
  @Field(() => Int, { description: 'Largest file, in MB of 1,048,576 bytes; a file of exactly the limit passes.' })
  maxFileSizeMb!: number
  @Field(() => String, { description: 'Where its blobs go: {context_key}, {year} and {month} are filled in.' })
  storagePathTemplate!: string
  @Field(() => Boolean, { description: 'Whether blank files are refused.' })
  rejectBlankFiles!: boolean
  @Field(() => Boolean, { description: 'Whether files that their programs cannot open are refused.' })
  rejectCorruptFiles!: boolean
  @Field(() => Boolean, { description: 'Whether files are scanned for viruses.' })
  scanForViruses!: boolean
  @Field(() => Int, { description: 'Quota of the context, in MB.' })
  storageQuotaMb!: number
  @Field(() => LongScalar, { description: 'Bytes of the files that it holds, exact.' })
  storageUsedBytes!: number
  @Field(() => ContextStatus, { description: 'Whether it takes uploads.' })
  status!: ContextStatus
  @Field(() => JsonObjectScalar, { description: 'The caller’s own facts.' })
  metadata!: Record<string, unknown>
  @Field(() => Date, { description: 'When it was created.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it was last changed.' })
  updatedAt!: Date
  rejectEncryptedFiles!: boolean
  rejectActiveContent!: boolean
  acceptUnscanned!: boolean
  retentionDays!: number | null
  trashDays!: number
  rescan!: boolean
  rulesVersion!: number
}

@ObjectType({ simpleResolvers: true, description: 'A context that was deleted.' })
export class DeletedContext {
  @Field(() => ID, { description: 'Shape ctx_….' })
  contextId!: string
  @Field(() => String, { description: 'Its key, free again.' })
  contextKey!: string
}

@ObjectType({ simpleResolvers: true, description: 'What a context holds, and how it is used.' })
export class ContextUsage {
  @Field(() => LongScalar, { description: 'Files that it holds now.' })
  fileCount!: number
  @Field(() => LongScalar, { description: 'Their bytes.' })
  totalBytes!: number
  @Field(() => LongScalar, { description: 'Bytes that its quota leaves.' })
  remainingBytes!: number
  @Field(() => LongScalar, { description: 'Files ever accepted.' })
  filesUploaded!: number
  @Field(() => LongScalar, { description: 'Files ever blocked.' })
  filesBlocked!: number
  @Field(() => LongScalar, { description: 'Calls by API key that were about it.' })
  calls!: number
}

export const FileContextPage = pageType(FileContext, 'FileContext')

const extensions = () =>
  Rule(
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= 100 &&
      value.every((item) => typeof item === 'string' && /^\.?[A-Za-z0-9]{1,16}$/.test(item)),
    'must be 1 to 100 extensions of 1 to 16 letters and digits, such as "pdf"',
    { minItems: 1, maxItems: 100, items: { type: 'string', pattern: '^\\.?[A-Za-z0-9]{1,16}$' } },
  )
const template = () =>
  Rule(
    (value) => typeof value === 'string' && templateFault(value) === null,
    'must be a relative path of {context_key}, {year}, {month} and plain names, without "..", empty parts or control characters',
  )
const megabytes = () => Whole(1, 2_147_483_647)

@InputType({ description: 'A new context. Its checks are all on unless switched off.' })
export class CreateContextInput {
  @Field(() => String, { description: 'A lower-case letter, then up to 62 lower-case letters, digits and underscores.' })
  @Rule(
    (value) => typeof value === 'string' && /^[a-z][a-z0-9_]{0,62}$/.test(value),
    'must be a lower-case letter followed by up to 62 lower-case letters, digits or underscores',
    { pattern: '^[a-z][a-z0-9_]{0,62}$' },
  )
  contextKey!: string
  @Field(() => String, { description: '1 to 255 characters.' })
  @Line(1, 255)
  displayName!: string
  @Field(() => [String], { description: '1 to 100 extensions, in any case, with or without the dot.' })
  @extensions()
  allowedExtensions!: string[]
  @Field(() => Int, { description: 'Largest file, in MB: 1 to MAX_UPLOAD_MB.' })
  @megabytes()
  maxFileSizeMb!: number
  @Field(() => String, { defaultValue: '', description: 'What it is for.' })
  @Prose(0, 4096)
  description!: string
  @Field(() => String, { defaultValue: '{context_key}/{year}/{month}', description: 'Where its blobs go.' })
  @template()
  storagePathTemplate!: string
  @Field(() => Boolean, { defaultValue: true, description: 'Whether blank files are refused.' })
  rejectBlankFiles!: boolean
  @Field(() => Boolean, { defaultValue: true, description: 'Whether files that cannot be opened are refused.' })
  rejectCorruptFiles!: boolean
  @Field(() => Boolean, { defaultValue: true, description: 'Whether files are scanned for viruses.' })
  scanForViruses!: boolean
  @Field(() => Int, { defaultValue: 10_240, description: 'Quota, in MB: at least 1.' })
  @megabytes()
  storageQuotaMb!: number
  @Field(() => JsonObjectScalar, { nullable: true, description: 'The caller’s own facts: at most 16 KiB.' })
  @Optional()
  @Metadata()
  metadata?: Record<string, unknown> | null
}

@InputType({ description: 'What is to change; what is left out stays.' })
export class UpdateContextInput {
  @Field(() => String, { nullable: true, description: '1 to 255 characters.' })
  @NotNull()
  @Line(1, 255)
  displayName?: string
  @Field(() => [String], { nullable: true, description: '1 to 100 extensions.' })
  @NotNull()
  @extensions()
  allowedExtensions?: string[]
  @Field(() => Int, { nullable: true, description: 'Largest file, in MB: 1 to MAX_UPLOAD_MB.' })
  @NotNull()
  @megabytes()
  maxFileSizeMb?: number
  @Field(() => String, { nullable: true, description: 'What it is for.' })
  @NotNull()
  @Prose(0, 4096)
  description?: string
  @Field(() => String, { nullable: true, description: 'Where new blobs go; files keep their paths.' })
  @NotNull()
  @template()
  storagePathTemplate?: string
  @Field(() => Boolean, { nullable: true, description: 'Whether blank files are refused.' })
  @NotNull()
  @Flag()
  rejectBlankFiles?: boolean
  @Field(() => Boolean, { nullable: true, description: 'Whether files that cannot be opened are refused.' })
  @NotNull()
  @Flag()
  rejectCorruptFiles?: boolean
  @Field(() => Boolean, { nullable: true, description: 'Whether files are scanned for viruses.' })
  @NotNull()
  @Flag()
  scanForViruses?: boolean
  @Field(() => Int, { nullable: true, description: 'Quota, in MB: at least 1.' })
  @NotNull()
  @megabytes()
  storageQuotaMb?: number
  @Field(() => JsonObjectScalar, { nullable: true, description: 'Replaces the caller’s own facts.' })
  @NotNull()
  @Metadata()
  metadata?: Record<string, unknown>
  @Field(() => ContextStatus, { nullable: true, description: 'Whether it takes uploads.' })
  @NotNull()
  @Rule((value) => value === 'active' || value === 'disabled', 'must be active or disabled')
  status?: ContextStatus
}
