import { Field, ID, ObjectType } from 'type-graphql'
import { pageType } from '../../api/graphql/page.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType({
  simpleResolvers: true,
  description: 'A quarantined file: a later scan found a virus, or the file was restored and waits for its scan.',
})
export class QuarantinedFile {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'Its name.' })
  originalFilename!: string
  @Field(() => LongScalar, { description: 'Bytes.' })
  sizeBytes!: number
  @Field(() => String, { description: 'The context that it was uploaded into.' })
  contextKey!: string
  @Field(() => [String], { description: 'Names of the detected viruses. Empty if the file was restored and waits for its scan.' })
  viruses!: string[]
  @Field(() => String, { description: 'Signatures that found the viruses, or that the file waits to be scanned with.' })
  signatures!: string
  @Field(() => Date, { description: 'Time of the quarantine.' })
  quarantinedAt!: Date
}

export const QuarantinedFilePage = pageType(QuarantinedFile, 'QuarantinedFile')

@ObjectType({ simpleResolvers: true, description: 'A file that is out of the quarantine.' })
export class OutOfQuarantine {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
}
