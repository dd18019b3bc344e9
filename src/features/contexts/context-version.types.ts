import { Field, ID, Int, ObjectType } from 'type-graphql'
import { pageType } from '../../api/graphql/page.js'
import { ContextPolicy } from './context-policy.types.js'

@ObjectType({ simpleResolvers: true, description: 'What a context asks of files: its rules and its policy.' })
export class ContextRules {
  @Field(() => [String], { description: 'Extensions without the dot, in lower case.' })
  allowedExtensions!: string[]
  @Field(() => Int, { description: 'Largest file, in MB of 1,048,576 bytes.' })
  maxFileSizeMb!: number
  @Field(() => Boolean, { description: 'Whether blank files are refused.' })
  rejectBlankFiles!: boolean
  @Field(() => Boolean, { description: 'Whether files that their programs cannot open are refused.' })
  rejectCorruptFiles!: boolean
  @Field(() => Boolean, { description: 'Whether files are scanned for viruses.' })
  scanForViruses!: boolean
  @Field(() => ContextPolicy, { description: 'Its policy.' })
  policy!: ContextPolicy
}

@ObjectType({ simpleResolvers: true, description: 'The rules of a context from one change to the next.' })
export class ContextVersion {
  @Field(() => Int, { description: 'Counted from 1. Every report says by which version it was judged.' })
  version!: number
  @Field(() => ID, { description: 'Who made the change: usr_…, key_… or system.' })
  changedBy!: string
  @Field(() => Date, { description: 'When it was made.' })
  changedAt!: Date
  @Field(() => ContextRules, { description: 'What has applied from then on.' })
  rules!: ContextRules
}

export const ContextVersionPage = pageType(ContextVersion, 'ContextVersion')
