import { ArgsType, Field, ID, InputType, Int, NullableField, ObjectType, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { IntegerRange, Metadata, Rule, Text } from '../../api/graphql/rules.js'
import { JsonObjectScalar } from '../../api/graphql/scalars.js'
import { ExtensionList } from '../contexts/context.types.js'

export const UploadLinkStatus = createEnum(
  'UploadLinkStatus',
  'Status of an upload link, which determines whether the link accepts files.',
  {
    active: 'The link accepts files.',
    used: 'The link has accepted its maximum number of files.',
    expired: 'The link has expired.',
    revoked: 'The link was revoked by a user, or after too many rejected files.',
  },
)
export type UploadLinkStatus = keyof typeof UploadLinkStatus

@ObjectType({ simpleResolvers: true })
abstract class UploadLinkFields {
  @Field(() => ID, 'ID of the upload link: `ulk_` followed by a ULID.')
  linkId!: string
  @Field(() => String, 'Key of the context that the files are uploaded to.')
  contextKey!: string
  @Field(() => UploadLinkStatus, 'Status of the upload link.')
  status!: UploadLinkStatus
  @Field(() => Int, 'Maximum number of files that the link accepts.')
  maxFiles!: number
  @Field(() => Int, 'Number of files that were accepted through the link.')
  acceptedFiles!: number
  @Field(
    () => Int,
    'Number of files rejected through the link. The service revokes the link after 10 × `maxFiles` or 20 rejected files, whichever is greater.',
  )
  rejectedFiles!: number
  @Field(() => Int, "Maximum file size in MB. It does not exceed the context's limit.")
  maxSizeMb!: number
  @Field(() => [String], "File extensions that the link accepts, without the dot: a subset of the context's allowed extensions.")
  allowedExtensions!: string[]
  @NullableField(
    () => String,
    'SHA-256 checksum of the only file that the link accepts, in hexadecimal. Null if the link accepts any content.',
  )
  sha256!: string | null
  @Field(() => JsonObjectScalar, 'Key/value pairs that the service adds to the metadata of each uploaded file.')
  metadata!: Record<string, unknown>
  @Field(() => [String], 'Origins from which browsers can use the link. Empty means all origins.')
  origins!: string[]
  @Field(() => Date, 'Time at which the link expires.')
  expiresAt!: Date
  @Field(() => ID, 'ID of the API key (`key_`) or user (`usr_`) that created the link.')
  createdBy!: string
  @Field(() => Date, 'Time at which the link was created.')
  createdAt!: Date
}

@OutputType('A link through which a client without an API key can upload files to one context. Its token is not included.', {
  implements: Node,
})
export class UploadLink extends UploadLinkFields {
  @AsNodeId()
  override linkId!: string
}

@OutputType('A new upload link with its URL, which is returned only once.')
export class NewUploadLink extends UploadLinkFields {
  @Field(() => String, 'URL that accepts uploads. It contains the secret token of the link and is returned only once.')
  url!: string
  @Field(() => UploadLink, 'The upload link without its URL, which makes it safe to cache.')
  uploadLink!: UploadLink
}

export const UploadLinkPage = createPageType(UploadLink, 'UploadLink')

const maxOrigins = 20

/** Returns true if the value has the form of an `Origin` header: a scheme, a host and an optional port. */
function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 255 || !/^https?:\/\//.test(value)) return false
  return URL.canParse(value) && new URL(value).origin === value
}

@InputType('Properties of a new upload link. Its limits cannot exceed those of the context.')
export class CreateUploadLinkInput {
  @Field(() => String, 'Key of the context that the files are uploaded to.')
  @Text(1, 255)
  context!: string
  @Field(() => Int, 'Number of seconds until the link expires, 60 to 604,800.', { defaultValue: 900 })
  @IntegerRange(60, 604_800)
  expiresInSeconds!: number
  @Field(() => Int, 'Maximum number of files that the link accepts, 1 to 1,000.', { defaultValue: 1 })
  @IntegerRange(1, 1_000)
  maxFiles!: number
  @NullableField(() => Int, "Maximum file size in MB. The context's limit is both the default and the maximum.")
  @IntegerRange(1, 2_147_483_647)
  maxSizeMb?: number | null
  @NullableField(
    () => [String],
    "File extensions that the link accepts: a subset of the context's allowed extensions. The default is all of them.",
  )
  @ExtensionList()
  allowedExtensions?: string[] | null
  @NullableField(
    () => String,
    'SHA-256 checksum of the only file that the link accepts, as 64 hexadecimal digits. Requires `maxFiles` to be 1.',
  )
  @Rule((value) => typeof value === 'string' && /^[0-9a-fA-F]{64}$/.test(value), 'must be 64 hexadecimal digits', {
    pattern: '^[0-9a-fA-F]{64}$',
  })
  sha256?: string | null
  @NullableField(
    () => JsonObjectScalar,
    'Key/value pairs to add to the metadata of each uploaded file, at most 16 KiB as JSON. Uploaders cannot overwrite them.',
  )
  @Metadata()
  metadata?: Record<string, unknown> | null
  @Field(
    () => [String],
    'Origins from which browsers can use the link, such as `https://example.com`. An empty list means all origins. Clients other than browsers are not restricted.',
    { defaultValue: [] },
  )
  @Rule(
    (value) => Array.isArray(value) && value.length <= maxOrigins && value.every(isOrigin),
    `must be at most ${maxOrigins} origins: a scheme, a host and an optional port, such as https://example.com`,
    { maxItems: maxOrigins },
  )
  origins!: string[]
}

@ArgsType()
export class UploadLinksArgs extends PageArgs {
  @NullableField(() => String, 'Returns only upload links for the context with this key.')
  context?: string | null
  @NullableField(() => UploadLinkStatus, 'Returns only links with this status.')
  status?: UploadLinkStatus | null
}
