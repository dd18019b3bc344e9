import { Field, ID, ObjectType } from 'type-graphql'
import { AsNodeId } from '../../api/graphql/node.js'
import { createPageType } from '../../api/graphql/page.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType({ simpleResolvers: true, description: 'A deleted file that can be restored from the trash.' })
export class TrashedFile {
  @AsNodeId()
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'File name sent by the client, sanitized.' })
  originalFilename!: string
  @Field(() => LongScalar, { description: 'Size of the file in bytes. It counts toward the quotas until the file is purged.' })
  sizeBytes!: number
  @Field(() => String, { description: 'Key of the context that contains the file.' })
  contextKey!: string
  @Field(() => Date, { description: 'Time at which the file was deleted.' })
  deletedAt!: Date
  @Field(() => Date, {
    description: "Time after which the service purges the file, according to the context's current policy.",
  })
  purgeAt!: Date
}

@ObjectType({ simpleResolvers: true, description: 'A file that was permanently deleted.' })
export class PurgedFile {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
}

export const TrashedFilePage = createPageType(TrashedFile, 'TrashedFile')
