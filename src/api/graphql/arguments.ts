import { Arg, ArgsType, type ClassType, ID, NullableField } from './decorators.js'
import { PageArgs } from './page.js'

/** Arguments that several fields share. */
export const ContextKey = () => Arg('contextKey', () => String, 'Key of the context, unique within the tenant.')
export const FileId = () => Arg('fileId', () => ID, 'ID of the file: `file_` followed by a ULID.')
export const UserId = () => Arg('userId', () => ID, 'ID of the user: `usr_` followed by a ULID.')
export const ApiKeyId = () => Arg('apiKeyId', () => ID, 'ID of the API key: `key_` followed by a ULID.')
export const UpdateInput = (type: () => ClassType) => Arg('input', type, 'Fields to change. Omitted fields keep their values.')
export const IdempotencyKey = () =>
  Arg(
    'idempotencyKey',
    () => String,
    'Idempotency key of up to 255 characters. For 24 hours, a repeated request with the same key returns the stored response.',
    { nullable: true },
  )

@ArgsType()
export class ContextPageArgs extends PageArgs {
  @NullableField(() => String, 'Returns only files in the context with this key.')
  context?: string | null
}
