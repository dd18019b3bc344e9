import { ArgsType, Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { IntegerRange, Metadata, NullableField, Rule, Text } from '../../api/graphql/rules.js'
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
  @Field(() => ID, { description: 'ID of the upload link: `ulk_` followed by a ULID.' })
  linkId!: string
  @Field(() => String, { description: 'Key of the context that the files are uploaded to.' })
  contextKey!: string
  @Field(() => UploadLinkStatus, { description: 'Status of the upload link.' })
  status!: UploadLinkStatus
  @Field(() => Int, { description: 'Maximum number of files that the link accepts.' })
  maxFiles!: number
  @Field(() => Int, { description: 'Number of files that were accepted through the link.' })
  acceptedFiles!: number
  @Field(() => Int, {
    description:
      'Number of files rejected through the link. The service revokes the link after 10 × `maxFiles` or 20 rejected files, whichever is greater.',
  })
  rejectedFiles!: number
  @Field(() => Int, { description: "Maximum file size in MB. It does not exceed the context's limit." })
  maxSizeMb!: number
  @Field(() => [String], {
    description: "File extensions that the link accepts, without the dot: a subset of the context's allowed extensions.",
  })
  allowedExtensions!: string[]
  @NullableField(
    () => String,
    'SHA-256 checksum of the only file that the link accepts, in hexadecimal. Null if the link accepts any content.',
  )
  sha256!: string | null
  @Field(() => JsonObjectScalar, { description: 'Key/value pairs that the service adds to the metadata of each uploaded file.' })
  metadata!: Record<string, unknown>
  @Field(() => [String], { description: 'Origins from which browsers can use the link. Empty means all origins.' })
  origins!: string[]
  @Field(() => Date, { description: 'Time at which the link expires.' })
  expiresAt!: Date
  @Field(() => ID, { description: 'ID of the API key (`key_`) or user (`usr_`) that created the link.' })
  createdBy!: string
  @Field(() => Date, { description: 'Time at which the link was created.' })
  createdAt!: Date
}

@ObjectType({
  implements: Node,
  simpleResolvers: true,
  description: 'A link through which a client without an API key can upload files to one context. Its token is not included.',
})
export class UploadLink extends UploadLinkFields {
  @AsNodeId()
  override linkId!: string
}

@ObjectType({ simpleResolvers: true, description: 'A new upload link with its URL, which is returned only once.' })
export class NewUploadLink extends UploadLinkFields {
  @Field(() => String, {
    description: 'URL that accepts uploads. It contains the secret token of the link and is returned only once.',
  })
  url!: string
  @Field(() => UploadLink, { description: 'The upload link without its URL, which makes it safe to cache.' })
  uploadLink!: UploadLink
}

export const UploadLinkPage = createPageType(UploadLink, 'UploadLink')

const maxOrigins = 20

/** Returns true if the value has the form of an `Origin` header: a scheme, a host and an optional port. */
function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 255 || !/^https?:\/\//.test(value)) return false
  return URL.canParse(value) && new URL(value).origin === value
}

@InputType({ description: 'Properties of a new upload link. Its limits cannot exceed those of the context.' })
export class CreateUploadLinkInput {
  @Field(() => String, { description: 'Key of the context that the files are uploaded to.' })
  @Text(1, 255)
  context!: string
  @Field(() => Int, { defaultValue: 900, description: 'Number of seconds until the link expires, 60 to 604,800.' })
  @IntegerRange(60, 604_800)
  expiresInSeconds!: number
  @Field(() => Int, {
    defaultValue: 1,
    description: 'Maximum number of files that the link accepts, 1 to 1,000.',
  })
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
  @Field(() => [String], {
    defaultValue: [],
    description:
      'Origins from which browsers can use the link, such as `https://example.com`. An empty list means all origins. Clients other than browsers are not restricted.',
  })
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
