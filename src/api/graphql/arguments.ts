import { Arg, ArgsType, Field, ID } from 'type-graphql'
import { PageArgs } from './page.js'

/** Arguments that many fields take, described in one place. */
export const ContextKey = () => Arg('contextKey', () => String, { description: 'The context’s key.' })
export const FileId = () => Arg('fileId', () => ID, { description: 'Shape file_….' })
export const UserId = () => Arg('userId', () => ID, { description: 'Shape usr_….' })
export const ApiKeyId = () => Arg('apiKeyId', () => ID, { description: 'Shape key_….' })
export const IdempotencyKey = () =>
  Arg('idempotencyKey', () => String, {
    nullable: true,
    description: 'The same request twice under one key is done once, for 24 hours.',
  })

/** A page of a list of files, of one context where that is wanted. */
@ArgsType()
export class ContextPageArgs extends PageArgs {
  @Field(() => String, { nullable: true, description: 'Only files of the context with this key.' })
  context?: string | null
}
