import { Field, ID, InputType, Int, NullableField, ObjectType, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { createPageType } from '../../api/graphql/page.js'
import {
  BooleanUpdateField,
  IntegerRange,
  Metadata,
  MultiLineText,
  Rule,
  SingleLineText,
  UpdateField,
} from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar } from '../../api/graphql/scalars.js'

export const ContextStatus = createEnum(
  'ContextStatus',
  'Status of a context, which determines whether the context accepts uploads.',
  {
    active: 'The context accepts uploads.',
    disabled: 'The context rejects uploads. Its files stay available.',
  },
)
export type ContextStatus = keyof typeof ContextStatus

/** Fields that `FileContext` and `ContextRules` share. */
@ObjectType({ simpleResolvers: true })
export abstract class CheckRules {
  @Field(() => [String], 'Allowed file extensions, in lower case and without the dot.')
  allowedExtensions!: string[]
  @Field(() => Int, 'Maximum file size in MB (1 MB is 1,048,576 bytes). A file of exactly this size is accepted.')
  maxFileSizeMb!: number
  @Field(() => Boolean, 'True if the context rejects blank files.')
  rejectBlankFiles!: boolean
  @Field(() => Boolean, 'True if the context rejects files that common programs cannot open.')
  rejectCorruptFiles!: boolean
  @Field(() => Boolean, 'True if the context scans files for viruses.')
  scanForViruses!: boolean
}

@OutputType('A set of upload rules, and the files that passed them.', { implements: Node })
export class FileContext extends CheckRules {
  @AsNodeId()
  @Field(() => ID, 'ID of the context: `ctx_` followed by a ULID.')
  contextId!: string
  @Field(() => String, 'Key that identifies the context in paths and upload forms. It is unique in the tenant and immutable.')
  contextKey!: string
  @Field(() => ID, 'ID of the tenant that owns the context: `ten_` followed by a ULID.')
  tenantId!: string
  @Field(() => String, 'Display name of the context, 1 to 255 characters.')
  displayName!: string
  @Field(() => String, "Free-text description of the context's purpose.")
  description!: string
  @Field(
    () => String,
    'Template for the storage paths of files. The service replaces the placeholders `{context_key}`, `{year}` and `{month}`.',
  )
  storagePathTemplate!: string
  @Field(() => Int, 'Storage quota of the context in MB (1 MB is 1,048,576 bytes).')
  storageQuotaMb!: number
  @Field(() => LongScalar, 'Exact total size of all files in the context in bytes, including files in the trash.')
  storageUsedBytes!: number
  @Field(() => ContextStatus, 'Status of the context.')
  status!: ContextStatus
  @Field(() => JsonObjectScalar, 'Custom key/value pairs stored with the context.')
  metadata!: Record<string, unknown>
  @Field(() => Date, 'Time at which the context was created.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the context was last changed.')
  updatedAt!: Date
  rejectEncryptedFiles!: boolean
  rejectActiveContent!: boolean
  acceptUnscanned!: boolean
  retentionDays!: number | null
  trashDays!: number
  rescan!: boolean
  rulesVersion!: number
  /** Required checksum of the file, if the upload link specifies one. */
  requiredSha256?: string | null
}

@OutputType('A context that was deleted.')
export class DeletedContext {
  @Field(() => ID, 'ID of the deleted context: `ctx_` followed by a ULID.')
  contextId!: string
  @Field(() => String, 'Key of the deleted context. A new context can use the same key.')
  contextKey!: string
}

@OutputType('Usage statistics for a context.')
export class ContextUsage {
  @Field(() => LongScalar, 'Number of files currently in the context.')
  fileCount!: number
  @Field(() => LongScalar, 'Total size of the files currently in the context, in bytes.')
  totalBytes!: number
  @Field(() => LongScalar, "Number of bytes left in the context's storage quota.")
  remainingBytes!: number
  @Field(() => LongScalar, 'Number of files that the context has accepted since its creation.')
  filesUploaded!: number
  @Field(() => LongScalar, 'Number of files that the context has blocked since its creation.')
  filesBlocked!: number
  @Field(() => LongScalar, 'Number of API calls that involved the context.')
  calls!: number
}

export const FileContextPage = createPageType(FileContext, 'FileContext')

/** Requires a list of file extensions, in upper or lower case, with or without a leading dot. */
export const ExtensionList = () =>
  Rule(
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= 100 &&
      value.every((item) => typeof item === 'string' && /^\.?[A-Za-z0-9]{1,16}$/.test(item)),
    'must be 1 to 100 extensions of 1 to 16 letters and digits, such as "pdf"',
    { minItems: 1, maxItems: 100, items: { type: 'string', pattern: '^\\.?[A-Za-z0-9]{1,16}$' } },
  )
const PathTemplate = () =>
  Rule(
    (value) => typeof value === 'string' && isValidTemplate(value),
    'must be a relative path that consists of {context_key}, {year}, {month} and plain names, without "..", empty segments or control characters',
  )
const Megabytes = () => IntegerRange(1, 2_147_483_647)
export const contextKeyShape = /^[a-z][a-z0-9_]{0,62}$/

@InputType('Properties of a new context. All checks are enabled by default.')
export class CreateContextInput {
  @Field(() => String, 'Key of the context: a lower-case letter, then up to 62 lower-case letters, digits and underscores.')
  @Rule(
    (value) => typeof value === 'string' && contextKeyShape.test(value),
    'must be a lower-case letter followed by up to 62 lower-case letters, digits or underscores',
    { pattern: contextKeyShape.source },
  )
  contextKey!: string
  @Field(() => String, 'Display name of the context, 1 to 255 characters.')
  @SingleLineText(1, 255)
  displayName!: string
  @Field(() => [String], 'Allowed file extensions, 1 to 100, in upper or lower case, with or without the dot.')
  @ExtensionList()
  allowedExtensions!: string[]
  @Field(() => Int, 'Maximum file size in MB, from 1 to the value of `MAX_UPLOAD_MB`.')
  @Megabytes()
  maxFileSizeMb!: number
  @Field(() => String, "Free-text description of the context's purpose.", { defaultValue: '' })
  @MultiLineText(0, 4096)
  description!: string
  @Field(() => String, 'Template for the storage paths of files. It can contain `{context_key}`, `{year}` and `{month}`.', {
    defaultValue: '{context_key}/{year}/{month}',
  })
  @PathTemplate()
  storagePathTemplate!: string
  @Field(() => Boolean, 'True to reject blank files.', { defaultValue: true })
  rejectBlankFiles!: boolean
  @Field(() => Boolean, 'True to reject files that common programs cannot open.', { defaultValue: true })
  rejectCorruptFiles!: boolean
  @Field(() => Boolean, 'True to scan files for viruses.', { defaultValue: true })
  scanForViruses!: boolean
  @Field(() => Int, 'Storage quota of the context in MB, at least 1.', { defaultValue: 10_240 })
  @Megabytes()
  storageQuotaMb!: number
  @NullableField(() => JsonObjectScalar, 'Custom key/value pairs, at most 16 KiB as JSON.')
  @Metadata()
  metadata?: Record<string, unknown> | null
}

@InputType('Context fields to change. Omitted fields keep their values.')
export class UpdateContextInput {
  @UpdateField(() => String, 'Display name of the context, 1 to 255 characters.')
  @SingleLineText(1, 255)
  displayName?: string
  @UpdateField(() => [String], 'Allowed file extensions, 1 to 100, in upper or lower case, with or without the dot.')
  @ExtensionList()
  allowedExtensions?: string[]
  @UpdateField(() => Int, 'Maximum file size in MB, from 1 to the value of `MAX_UPLOAD_MB`.')
  @Megabytes()
  maxFileSizeMb?: number
  @UpdateField(() => String, "Free-text description of the context's purpose.")
  @MultiLineText(0, 4096)
  description?: string
  @UpdateField(() => String, 'Template for the storage paths of new files. Existing files keep their paths.')
  @PathTemplate()
  storagePathTemplate?: string
  @BooleanUpdateField('True to reject blank files.')
  rejectBlankFiles?: boolean
  @BooleanUpdateField('True to reject files that common programs cannot open.')
  rejectCorruptFiles?: boolean
  @BooleanUpdateField('True to scan files for viruses.')
  scanForViruses?: boolean
  @UpdateField(() => Int, 'Storage quota of the context in MB, at least 1.')
  @Megabytes()
  storageQuotaMb?: number
  @UpdateField(() => JsonObjectScalar, 'Custom key/value pairs, which replace the existing ones.')
  @Metadata()
  metadata?: Record<string, unknown>
  @UpdateField(() => ContextStatus, 'New status of the context.')
  @Rule((value) => value === 'active' || value === 'disabled', 'must be active or disabled')
  status?: ContextStatus
}

export const pathPlaceholder = /\{(context_key|year|month)\}/g
// Control characters, and characters that are reserved in GCS object names, or special in shells and browsers.
const unsafeInPath = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff\\#?*[\]:"<>|]/

/** Returns true if a storage path template results in a relative path that every store accepts. */
export function isValidTemplate(template: string): boolean {
  // Use a context key of the maximum length (63 characters), because file systems limit the length of file names.
  const segments = template.replace('{context_key}', 'k'.repeat(63)).split('/')
  return (
    Buffer.byteLength(template) <= 255 &&
    template.isWellFormed() &&
    !unsafeInPath.test(template) &&
    !/[{}]/.test(template.replace(pathPlaceholder, '')) &&
    segments.every((part) => !['', '.', '..'].includes(part) && part.trim() === part && Buffer.byteLength(part) <= 200)
  )
}

/** Converts extensions to lower case, and removes dots and duplicates. */
export const normalizeExtensions = (extensions: readonly string[]): string[] => [
  ...new Set(extensions.map((extension) => extension.replace(/^\./, '').toLowerCase())),
]
