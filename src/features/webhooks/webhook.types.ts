import { ArgsType, Field, ID, InputType, Int, NullableField, ObjectType, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { ContextKeys, IntegerRange, MultiLineText, Text, UpdateField } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { EventTypes } from '../events/event.types.js'

export const WebhookStatus = createEnum(
  'WebhookStatus',
  'Status of a webhook, which determines whether the webhook receives events.',
  {
    active: 'The webhook receives events.',
    disabled:
      'The webhook receives no events. After the webhook is enabled again, delivery continues with the next undelivered event.',
  },
)
export type WebhookStatus = keyof typeof WebhookStatus

const WebhookDisabledReason = createEnum('WebhookDisabledReason', 'Reason why a webhook is disabled.', {
  requested: 'An admin disabled the webhook.',
  gone: 'The endpoint returned HTTP status 410 (Gone).',
  failing: 'All delivery attempts have failed for the past five days.',
})
type WebhookDisabledReason = keyof typeof WebhookDisabledReason

export const DeliveryStatus = createEnum('DeliveryStatus', 'Status of a webhook delivery.', {
  pending: 'The last attempt failed, and the service will retry.',
  delivered: 'The endpoint returned a 2xx status.',
  failed: 'All attempts failed, and the service no longer retries.',
})
export type DeliveryStatus = keyof typeof DeliveryStatus

@ObjectType({ simpleResolvers: true })
abstract class WebhookFields {
  @Field(() => ID, 'ID of the webhook: `whk_` followed by a ULID.')
  webhookId!: string
  @Field(() => String, 'URL that receives events as POST requests.')
  url!: string
  @Field(() => [String], 'Event types that are sent. `file.*` matches all file events, and `*` matches all events.')
  types!: string[]
  @NullableField(
    () => [String],
    'Keys of the contexts whose events are sent. Null means all. Events without a context are always sent.',
  )
  contexts!: string[] | null
  @Field(() => String, "Free-text description of the webhook's purpose.")
  description!: string
  @Field(() => WebhookStatus, 'Status of the webhook.')
  status!: WebhookStatus
  @NullableField(() => WebhookDisabledReason, 'Reason why the webhook is disabled. Null if it is active.')
  disabledReason!: WebhookDisabledReason | null
  @Field(() => LongScalar, 'Sequence number of the last processed event.')
  lastSequence!: number
  @NullableField(() => Date, 'Start of the period in which all attempts have failed. Null if the last delivery succeeded.')
  failingSince!: Date | null
  @NullableField(() => Date, 'Time of the next retry. Null if no retry is scheduled.')
  nextAttemptAt!: Date | null
  @NullableField(
    () => Date,
    'End of the period in which deliveries are also signed with the previous secret. Null if there is no previous secret.',
  )
  previousSecretExpiresAt!: Date | null
  @Field(() => ID, 'ID of the user or API key that created the webhook, or `system`.')
  createdBy!: string
  @Field(() => Date, 'Time at which the webhook was created.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the webhook was last changed.')
  updatedAt!: Date
}

@OutputType('An endpoint that receives events as POST requests. The secret is not included.', { implements: Node })
export class Webhook extends WebhookFields {
  @AsNodeId()
  override webhookId!: string
}

@OutputType('A webhook with its secret, which is returned only once.')
export class WebhookWithSecret extends WebhookFields {
  @Field(
    () => String,
    'Secret used to sign deliveries as specified by Standard Webhooks: `whsec_` followed by base64. It is returned only once.',
  )
  secret!: string
  @Field(() => Webhook, 'The webhook without its secret, which makes it safe to cache.')
  webhook!: Webhook
}

@OutputType('Delivery of an event to a webhook, including all attempts.')
export class WebhookDelivery {
  @AsNodeId()
  @Field(() => ID, 'ID of the delivery: `dlv_` followed by a ULID.')
  deliveryId!: string
  @Field(() => ID, 'ID of the event: `evt_` followed by a ULID. Each attempt sends the ID in the `webhook-id` header.')
  eventId!: string
  @Field(() => String, 'Type of the delivered event.')
  type!: string
  @NullableField(() => LongScalar, 'Sequence number of the event in the journal. Null for a test event.')
  sequence!: number | null
  @Field(() => DeliveryStatus, 'Status of the delivery.')
  status!: DeliveryStatus
  @Field(() => Int, 'Number of attempts so far.')
  attempts!: number
  @NullableField(() => Int, 'HTTP status of the last response. Null if no response was received.')
  responseStatus!: number | null
  @NullableField(() => String, 'Error from the last attempt. Null if it succeeded.')
  error!: string | null
  @NullableField(() => Int, 'Duration of the last attempt in milliseconds. Null if nothing was sent.')
  durationMs!: number | null
  @Field(() => Date, 'Time of the first attempt.')
  createdAt!: Date
  @Field(() => Date, 'Time of the last attempt.')
  attemptedAt!: Date
  @NullableField(() => Date, 'Time of the next retry. Null if no retry is scheduled.')
  nextAttemptAt!: Date | null
}

export const WebhookPage = createPageType(Webhook, 'Webhook')
export const WebhookDeliveryPage = createPageType(WebhookDelivery, 'WebhookDelivery')

@OutputType('A webhook that was deleted.')
export class DeletedWebhook {
  @Field(() => ID, 'ID of the webhook: `whk_` followed by a ULID.')
  webhookId!: string
  @Field(() => Boolean, 'Always true. If the deletion fails, the response contains an error instead.')
  deleted!: boolean
}

@InputType('Properties of a new webhook.')
export class CreateWebhookInput {
  @Field(() => String, 'URL that receives events. It must use `https:`, have a public address and contain no credentials.')
  @Text(1, 2048)
  url!: string
  @Field(() => [String], 'Event types to send. `file.*` matches all file events, and `*` matches all events.', {
    defaultValue: ['*'],
  })
  @EventTypes()
  types!: string[]
  @NullableField(() => [String], 'Keys of the contexts whose events are sent. Null means all.')
  @ContextKeys()
  contexts?: string[] | null
  @Field(() => String, 'Free-text description of the webhook, at most 1,000 characters.', { defaultValue: '' })
  @MultiLineText(0, 1000)
  description!: string
}

@InputType('Webhook fields to change. Omitted fields keep their values.')
export class UpdateWebhookInput {
  @UpdateField(() => String, 'URL that receives events. It must use `https:`, have a public address and contain no credentials.')
  @Text(1, 2048)
  url?: string
  @UpdateField(() => [String], 'Event types to send. `file.*` matches all file events, and `*` matches all events.')
  @EventTypes()
  types?: string[]
  @NullableField(() => [String], 'Keys of the contexts whose events are sent. Null means all.')
  @ContextKeys()
  contexts?: string[] | null
  @UpdateField(() => String, 'Free-text description of the webhook, at most 1,000 characters.')
  @MultiLineText(0, 1000)
  description?: string
  @UpdateField(() => WebhookStatus, 'New status of the webhook.')
  status?: WebhookStatus
}

@ArgsType()
export class WebhookDeliveriesArgs extends PageArgs {
  @Field(() => ID, 'ID of the webhook: `whk_` followed by a ULID.')
  webhookId!: string
  @NullableField(() => DeliveryStatus, 'Returns only deliveries with this status.')
  status?: DeliveryStatus
}

@ArgsType()
export class ReplayWebhookArgs {
  @Field(() => ID, 'ID of the webhook: `whk_` followed by a ULID.')
  webhookId!: string
  @Field(() => LongScalar, 'Sequence number of the first event to resend, from 1 to the last sequence number plus 1.')
  @IntegerRange(1, Number.MAX_SAFE_INTEGER)
  fromSequence!: number
}
