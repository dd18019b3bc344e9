import { Field, ID, ObjectType } from 'type-graphql'
import { pageType } from '../../api/graphql/page.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType({ simpleResolvers: true, description: 'A file that was deleted and can be restored.' })
export class TrashedFile {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'The client’s name for it, cleaned.' })
  originalFilename!: string
  @Field(() => LongScalar, { description: 'Bytes: they still count.' })
  sizeBytes!: number
  @Field(() => String, { description: 'The context that it was uploaded into.' })
  contextKey!: string
  @Field(() => Date, { description: 'When it was deleted.' })
  deletedAt!: Date
  @Field(() => Date, { description: 'From when on it is gone for good, by the context’s policy as it is now.' })
  purgeAt!: Date
}

@ObjectType({ simpleResolvers: true, description: 'A file that is gone for good.' })
export class PurgedFile {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
}

export const TrashedFilePage = pageType(TrashedFile, 'TrashedFile')
