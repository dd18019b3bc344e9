import { Arg, ID } from 'type-graphql'

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
