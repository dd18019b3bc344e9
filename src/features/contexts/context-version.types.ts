import { Field, ID, Int, ObjectType } from 'type-graphql'
import { createPageType } from '../../api/graphql/page.js'
import { ContextPolicy } from './context-policy.types.js'

@ObjectType({ simpleResolvers: true, description: 'Rules and policy that a context applies to uploads.' })
export class ContextRules {
  @Field(() => [String], { description: 'Allowed file extensions, in lower case and without the dot.' })
  allowedExtensions!: string[]
  @Field(() => Int, { description: 'Maximum file size in MB (1 MB is 1,048,576 bytes).' })
  maxFileSizeMb!: number
  @Field(() => Boolean, { description: 'True if the context rejects blank files.' })
  rejectBlankFiles!: boolean
  @Field(() => Boolean, { description: 'True if the context rejects files that common programs cannot open.' })
  rejectCorruptFiles!: boolean
  @Field(() => Boolean, { description: 'True if the context scans files for viruses.' })
  scanForViruses!: boolean
  @Field(() => ContextPolicy, { description: 'Context policy as defined in this version of the rules.' })
  policy!: ContextPolicy
}

@ObjectType({ simpleResolvers: true, description: "A version of a context's rules and policy." })
export class ContextVersion {
  @Field(() => ID, { description: 'Unique identifier of the version: the context ID, a colon and the version number.' })
  id!: string
  @Field(() => Int, {
    description: 'Version number of the context rules, starting at 1. Validation reports contain it as `rulesVersion`.',
  })
  version!: number
  @Field(() => ID, { description: 'ID of the user or API key that made the change, or `system`.' })
  changedBy!: string
  @Field(() => Date, { description: 'Time at which the version was created.' })
  changedAt!: Date
  @Field(() => ContextRules, { description: 'Rules and policy of the context in this version.' })
  rules!: ContextRules
}

export const ContextVersionPage = createPageType(ContextVersion, 'ContextVersion')
