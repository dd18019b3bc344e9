import { ArgsType, type ClassType, Field, ID, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum, ErrorCodeName } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { ConnectionArgs, createConnectionType, createPageType, PageArgs } from '../../api/graphql/page.js'
import { DateString, Metadata, Rule, Text } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar, UploadScalar } from '../../api/graphql/scalars.js'
import type { UploadedFile } from '../../ledger/entry.js'
import type { Actor } from '../../platform/actor.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'
import type { IncomingFile } from '../../platform/spool/content.js'

@OutputType("A stored file that passed its context's validation checks.", { implements: Node })
export class File {
  @AsNodeId()
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'File name sent by the client, sanitized.')
  originalFilename!: string
  @Field(() => String, 'Content type detected from the content, or derived from the extension if none was detected.')
  contentType!: string
  @Field(() => LongScalar, 'Size of the file in bytes.')
  sizeBytes!: number
  @Field(() => String, 'Key of the context that contains the file.')
  contextKey!: string
  @Field(() => String, 'Checksum of the content: `sha256:` followed by the hexadecimal digest.')
  checksum!: string
  @Field(() => JsonObjectScalar, 'Custom key/value pairs that the uploader sent.')
  metadata!: Record<string, unknown>
  @Field(() => ID, 'ID of the API key (`key_`) or user (`usr_`) that uploaded the file.')
  uploadedBy!: string
  @NullableField(() => String, 'Name of the API key that uploaded the file. Null if the uploader is a user.')
  uploadedByName!: string | null
  @Field(() => LongScalar, 'Number of download URLs created for the file, whether or not they were used.')
  downloadCount!: number
  @NullableField(() => Date, 'Time at which the most recent download URL was created. Null if none was created.')
  lastDownloadedAt!: Date | null
  @Field(() => Date, 'Time at which the file was uploaded.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the file was last changed.')
  updatedAt!: Date
  @NullableField(
    () => Date,
    'Time at which the file was quarantined. Null if it is not quarantined. A quarantined file cannot be downloaded.',
  )
  quarantinedAt!: Date | null
  contextId!: string
  tenantId!: string
}

@OutputType('A short-lived, pre-signed download URL.')
export class DownloadUrl {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'Signed download URL. It requires no credential and works until it expires.')
  downloadUrl!: string
  @Field(() => LongScalar, 'Number of seconds until the download URL expires.')
  expiresInSeconds!: number
  @Field(() => String, 'File name to use when saving the download.')
  originalFilename!: string
}

@OutputType('A file that was deleted.')
export class DeletedFile {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
}

@OutputType('Error for one file in a bulk deletion.')
export class DeletionRefusal {
  @Field(() => ErrorCodeName, 'Error code, as returned when the file is deleted individually.')
  code!: ErrorCode
  @Field(() => String, 'Human-readable explanation of the error.')
  message!: string
}

@OutputType('Result for one file in a bulk deletion.')
export class FileDeletion {
  @Field(() => ID, 'ID of the file, exactly as in the request.')
  fileId!: string
  @Field(() => Boolean, 'True if this request deleted the file.')
  deleted!: boolean
  @NullableField(() => DeletionRefusal, 'Reason why the file was not deleted. Null if it was deleted.')
  error!: DeletionRefusal | null
}

@OutputType('User or API key that uploaded a file, with its current name.')
export class Uploader {
  @Field(() => ID, 'ID of the API key (`key_`) or user (`usr_`).')
  id!: string
  @Field(() => String, 'Kind of uploader: `api_key` or `user`.')
  type!: string
  @Field(() => String, 'Current name of the API key or user.')
  name!: string
}

export const FilePage = createPageType(File, 'File')
export const FileConnection = createConnectionType(File, 'File')

/** Each value is the name of the field by which files are sorted. */
export const FileSort = createEnum(
  'FileSort',
  'Property by which files are sorted. Files with equal values are sorted by creation time.',
  {
    created_at: 'Time at which the file was uploaded.',
    original_filename: 'File name. The letters A to Z are compared case-insensitively.',
    size_bytes: 'Size of the file in bytes.',
  },
)
export type FileSort = keyof typeof FileSort

const SortOrder = createEnum('SortOrder', 'Sort direction of a list.', {
  asc: 'Ascending: oldest first, smallest first, A to Z.',
  desc: 'Descending: newest first, largest first, Z to A.',
})
type SortOrder = keyof typeof SortOrder

// Adds the filters that file pages and connections share.
const withFilters = <Base extends ClassType<object>>(base: Base) => {
  @ArgsType()
  class Filtered extends base {
    @NullableField(() => String, 'Returns only files in the context with this key.')
    context?: string | null
    @NullableField(() => ID, 'Returns only files uploaded by the API key or user with this ID.')
    uploadedBy?: string | null
    @NullableField(() => String, 'Returns only files with this content type. `image/*` matches all images.')
    @Rule(
      (value) => typeof value === 'string' && /^[\w.+-]{1,100}\/(\*|[\w.+-]{1,150})$/.test(value),
      'must be a content type such as application/pdf, or image/*',
    )
    contentType?: string | null
    @NullableField(
      () => String,
      'Returns only files whose name starts with this text. Matching is case-insensitive for the letters A to Z. The default sort order is by name.',
    )
    @Text(1, 255)
    namePrefix?: string | null
    @NullableField(
      () => String,
      'Returns only files whose name contains this text, or whose ID or SHA-256 checksum equals it. Matching is case-insensitive for the letters A to Z. One request reads the names of at most 100,000 files. If more files remain, the next page continues the search, even if this page is empty.',
    )
    @Text(1, 255)
    search?: string | null
    @NullableField(() => String, 'Earliest upload time, inclusive, in ISO 8601 format.')
    @DateString()
    startDate?: string | null
    @NullableField(
      () => String,
      'Latest upload time, inclusive, in ISO 8601 format. A date without a time includes the whole day.',
    )
    @DateString()
    endDate?: string | null
    @NullableField(
      () => FileSort,
      'Property to sort by. The default is `created_at`. With `sort`, or with filters other than context and uploader, the next page requires the cursor `after` instead of a page number.',
    )
    sort?: FileSort | null
    @NullableField(() => SortOrder, 'Sort direction. The default is ascending for names, and descending for times and sizes.')
    order?: SortOrder | null
  }
  return Filtered
}

@ArgsType()
export class FilesArgs extends withFilters(PageArgs) {}

@ArgsType()
export class FilesConnectionArgs extends withFilters(ConnectionArgs) {}

@ArgsType()
export class ValidateFileArgs {
  @Field(() => UploadScalar, 'File to upload or validate.')
  file!: IncomingFile
  @Field(() => String, 'Key of the context whose rules apply to the file.')
  @Text(1, 255)
  context!: string
}

@ArgsType()
export class UploadFileArgs extends ValidateFileArgs {
  @NullableField(() => JsonObjectScalar, 'Custom key/value pairs, at most 16 KiB as JSON.')
  @Metadata()
  metadata?: Record<string, unknown> | null
  @NullableField(
    () => String,
    'Idempotency key of up to 255 characters. For 24 hours, a repeated upload with the same key returns the stored response.',
  )
  idempotencyKey?: string | null
}

@ArgsType()
export class DownloadUrlArgs {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => Boolean, 'True to create a URL that works for one GET request only. Buckets do not support single-use URLs.', {
    defaultValue: false,
  })
  once!: boolean
}

const maxDeleted = 100

@ArgsType()
export class DeleteFilesArgs {
  @Field(() => [ID], 'IDs of 1 to 100 files. Duplicate IDs are processed once.')
  @Rule(
    (value) =>
      Array.isArray(value) && value.length > 0 && value.length <= maxDeleted && value.every((id) => String(id).length <= 255),
    `must be 1 to ${maxDeleted} ids of at most 255 characters`,
    { minItems: 1, maxItems: maxDeleted },
  )
  fileIds!: string[]
}

export const toUploadResponse = (
  { blobPath, validation, rulesVersion, rulesAt, isAdopted, ...file }: UploadedFile,
  actor: Actor,
): File => ({
  ...file,
  checksum: `sha256:${file.checksum}`,
  uploadedBy: actor.id,
  uploadedByName: actor.kind === 'api_key' ? actor.name : null,
  downloadCount: 0,
  lastDownloadedAt: null,
  updatedAt: file.createdAt,
  quarantinedAt: null,
})

export const fromStoredResponse = (response: Record<string, unknown>): File => {
  const file = response as unknown as File
  return { ...file, createdAt: new Date(file.createdAt), updatedAt: new Date(file.updatedAt) }
}
