import { Field, ID, ObjectType } from 'type-graphql'
import { pageType } from '../graphql/page.js'
import { LongScalar } from '../graphql/scalars.js'

@ObjectType({
  simpleResolvers: true,
  description: 'A file in which a virus was found after it was uploaded, and which is out of reach since.',
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
  @Field(() => [String], { description: 'What was found.' })
  viruses!: string[]
  @Field(() => String, { description: 'The signatures that found it.' })
  signatures!: string
  @Field(() => Date, { description: 'When.' })
  quarantinedAt!: Date
}

export const QuarantinedFilePage = pageType(QuarantinedFile, 'QuarantinedFile')

@ObjectType({ simpleResolvers: true, description: 'A file that is out of the quarantine.' })
export class OutOfQuarantine {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
}
