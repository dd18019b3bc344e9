import { Field, ID, ObjectType } from 'type-graphql'
import { AsNodeId } from '../../api/graphql/node.js'
import { createPageType } from '../../api/graphql/page.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType({
  simpleResolvers: true,
  description: 'A quarantined file: a later scan found a virus, or the file was restored and is waiting to be scanned.',
})
export class QuarantinedFile {
  @AsNodeId()
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'File name sent by the client, sanitized.' })
  originalFilename!: string
  @Field(() => LongScalar, { description: 'Size of the file in bytes.' })
  sizeBytes!: number
  @Field(() => String, { description: 'Key of the context that contains the file.' })
  contextKey!: string
  @Field(() => [String], {
    description: 'Names of the detected viruses. Empty if the file was restored and is waiting to be scanned.',
  })
  viruses!: string[]
  @Field(() => String, {
    description: 'Version of the signatures that detected the viruses, or that will be used to scan a restored file.',
  })
  signatures!: string
  @Field(() => Date, { description: 'Time at which the file was quarantined.' })
  quarantinedAt!: Date
}

export const QuarantinedFilePage = createPageType(QuarantinedFile, 'QuarantinedFile')

@ObjectType({ simpleResolvers: true, description: 'A file that was released or purged from quarantine.' })
export class OutOfQuarantine {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
}
