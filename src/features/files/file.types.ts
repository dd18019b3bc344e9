import { ArgsType, type ClassType, Field, ID, ObjectType } from 'type-graphql'
import { Moment } from '../../api/graphql/dates.js'
import { ErrorCodeName, enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { ConnectionArgs, connectionType, PageArgs, pageType } from '../../api/graphql/page.js'
import { Metadata, Optional, Rule, Text } from '../../api/graphql/rules.js'
import { JsonObjectScalar, LongScalar, UploadScalar } from '../../api/graphql/scalars.js'
import type { ErrorCode } from '../../platform/errors/error-codes.js'
import type { IncomingFile } from '../../platform/spool/incoming-file.js'

@ObjectType({ implements: Node, simpleResolvers: true, description: 'A file that passed its context’s rules and is kept.' })
export class File {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'The client’s name for it, cleaned.' })
  originalFilename!: string
  @Field(() => String, { description: 'What the content is found to be, never what the client claimed.' })
  contentType!: string
  @Field(() => LongScalar, { description: 'Bytes.' })
  sizeBytes!: number
  @Field(() => String, { description: 'The context that it was uploaded into.' })
  contextKey!: string
  @Field(() => String, { description: 'sha256: and the hexadecimal digest.' })
  checksum!: string
  @Field(() => JsonObjectScalar, { description: 'The uploader’s own facts.' })
  metadata!: Record<string, unknown>
  @Field(() => ID, { description: 'Who uploaded it: key_… or usr_….' })
  uploadedBy!: string
  @Field(() => String, { nullable: true, description: 'Name of the API key; null when the uploader is a user.' })
  uploadedByName!: string | null
  @Field(() => LongScalar, { description: 'Download URLs that were made for it, whether or not they were fetched.' })
  downloadCount!: number
  @Field(() => Date, { nullable: true, description: 'When the last of them was made.' })
  lastDownloadedAt!: Date | null
  @Field(() => Date, { description: 'When it was uploaded.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it was last changed.' })
  updatedAt!: Date
  contextId!: string
  tenantId!: string
}

@ObjectType({ simpleResolvers: true, description: 'A pre-signed, short-lived URL.' })
export class DownloadUrl {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'Gives the file to its holder, without a credential, until it expires.' })
  downloadUrl!: string
  @Field(() => LongScalar, { description: 'Seconds from now.' })
  expiresInSeconds!: number
  @Field(() => String, { description: 'The name under which it is offered.' })
  originalFilename!: string
}

@ObjectType({ simpleResolvers: true, description: 'A file that was deleted.' })
export class DeletedFile {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
}

@ObjectType({ simpleResolvers: true, description: 'Why one of several files was not deleted.' })
export class DeletionRefusal {
  @Field(() => ErrorCodeName, { description: 'As deleting it alone would be refused.' })
  code!: ErrorCode
  @Field(() => String, { description: 'The same for people.' })
  message!: string
}

@ObjectType({ simpleResolvers: true, description: 'What became of one of several files that were to be deleted.' })
export class FileDeletion {
  @Field(() => ID, { description: 'The id as it was given.' })
  fileId!: string
  @Field(() => Boolean, { description: 'Whether it was deleted by this request.' })
  deleted!: boolean
  @Field(() => DeletionRefusal, { nullable: true, description: 'Why not; null where it was.' })
  error!: DeletionRefusal | null
}

@ObjectType({ simpleResolvers: true, description: 'Who uploaded a file, as he or it is called now.' })
export class Uploader {
  @Field(() => ID, { description: 'Shape key_… or usr_….' })
  id!: string
  @Field(() => String, { description: 'api_key or user.' })
  type!: string
  @Field(() => String, { description: 'The name of the key or the user.' })
  name!: string
}

export const FilePage = pageType(File, 'File')
export const FileConnection = connectionType(File, 'File')

/** Spelled as the members that they sort by. */
export const FileSort = enumOf('FileSort', 'What files are sorted by; the same ones by their age.', {
  created_at: 'When it was uploaded.',
  original_filename: 'Its name, whatever the case of its letters A to Z.',
  size_bytes: 'Its size.',
})
export type FileSort = keyof typeof FileSort

const SortOrder = enumOf('SortOrder', 'In which order.', {
  asc: 'From the oldest, smallest or A on.',
  desc: 'From the newest, largest or Z on.',
})
type SortOrder = keyof typeof SortOrder

// One set of filters, whichever way the list is walked.
const filtered = <Place extends ClassType<object>>(place: Place) => {
  @ArgsType()
  class Filtered extends place {
    @Field(() => String, { nullable: true, description: 'Only files of the context with this key.' })
    context?: string | null
    @Field(() => ID, { nullable: true, description: 'Only files that this key_… or usr_… uploaded.' })
    uploadedBy?: string | null
    @Field(() => String, { nullable: true, description: 'Only files of this type; image/* stands for all of a kind.' })
    @Optional()
    @Rule(
      (value) => typeof value === 'string' && /^[\w.+-]{1,100}\/(\*|[\w.+-]{1,150})$/.test(value),
      'must be a content type such as application/pdf, or image/*',
    )
    contentType?: string | null
    @Field(() => String, {
      nullable: true,
      description: 'Only files whose name begins so, whatever the case of its letters A to Z; sorted by name by default.',
    })
    @Optional()
    @Text(1, 255)
    namePrefix?: string | null
    @Field(() => String, { nullable: true, description: 'Only files uploaded then or later: ISO 8601, inclusive.' })
    @Optional()
    @Moment()
    startDate?: string | null
    @Field(() => String, {
      nullable: true,
      description: 'Only files uploaded then or before: ISO 8601, inclusive; a date without a time includes that whole day.',
    })
    @Optional()
    @Moment()
    endDate?: string | null
    @Field(() => FileSort, {
      nullable: true,
      description:
        'What the list is sorted by: created_at by default. Such a list, and one of other filters than context and uploader, is walked by its cursors and not by page numbers.',
    })
    sort?: FileSort | null
    @Field(() => SortOrder, {
      nullable: true,
      description: 'In which order: by default names from A on, all else from the newest or largest on.',
    })
    order?: SortOrder | null
  }
  return Filtered
}

@ArgsType()
export class FilesArgs extends filtered(PageArgs) {}

@ArgsType()
export class FilesConnectionArgs extends filtered(ConnectionArgs) {}

@ArgsType()
export class ValidateFileArgs {
  @Field(() => UploadScalar, { description: 'The file.' })
  file!: IncomingFile
  @Field(() => String, { description: 'The context whose rules it is tested against.' })
  @Text(1, 255)
  context!: string
}

@ArgsType()
export class UploadFileArgs extends ValidateFileArgs {
  @Field(() => JsonObjectScalar, { nullable: true, description: 'The uploader’s own facts: at most 16 KiB.' })
  @Optional()
  @Metadata()
  metadata?: Record<string, unknown> | null
  @Field(() => String, { nullable: true, description: 'The same upload twice under one key is one file.' })
  idempotencyKey?: string | null
}

@ArgsType()
export class DownloadUrlArgs {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => Boolean, {
    defaultValue: false,
    description: 'Whether the URL is to be of use once: its first GET, whole or a range, is its last. Not with a bucket.',
  })
  once!: boolean
}

const mostDeleted = 100

@ArgsType()
export class DeleteFilesArgs {
  @Field(() => [ID], { description: 'Shape file_…: 1 to 100. One that is given twice is deleted and reported once.' })
  @Rule(
    (value) =>
      Array.isArray(value) && value.length > 0 && value.length <= mostDeleted && value.every((id) => String(id).length <= 255),
    `must be 1 to ${mostDeleted} ids of at most 255 characters`,
    { minItems: 1, maxItems: mostDeleted },
  )
  fileIds!: string[]
}
