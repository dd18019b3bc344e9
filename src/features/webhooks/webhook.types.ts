import { ID, Int } from 'type-graphql'
import { createEnum } from '../../api/graphql/enum.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { ContextKeys, IntegerRange, MultiLineText, Text } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import {
  argsType,
  extendArgs,
  field,
  inputType,
  nodeId,
  nodeType,
  nullable,
  objectType,
  optional,
  update,
  withDefault,
} from '../../api/graphql/type-declarations.js'
import { EventTypes } from '../events/event.types.js'

const WebhookStatus = createEnum('WebhookStatus', 'Status of a webhook, which determines whether the webhook receives events.', {
  active: 'The webhook receives events.',
  disabled:
    'The webhook receives no events. After the webhook is enabled again, delivery continues with the next undelivered event.',
})

const WebhookDisabledReason = createEnum('WebhookDisabledReason', 'Reason why a webhook is disabled.', {
  requested: 'An admin disabled the webhook.',
  gone: 'The endpoint returned HTTP status 410 (Gone).',
  failing: 'All delivery attempts have failed for the past five days.',
})

const DeliveryStatus = createEnum('DeliveryStatus', 'Status of a webhook delivery.', {
  pending: 'The last attempt failed, and the service will retry.',
  delivered: 'The endpoint returned a 2xx status.',
  failed: 'All attempts failed, and the service no longer retries.',
})

const webhookFields = {
  webhookId: field(ID, 'ID of the webhook: `whk_` followed by a ULID.'),
  url: field(String, 'URL that receives events as POST requests.'),
  types: field([String], 'Event types that are sent. `file.*` matches all file events, and `*` matches all events.'),
  contexts: nullable(
    [String],
    'Keys of the contexts whose events are sent. Null means all. Events without a context are always sent.',
  ),
  description: field(String, "Free-text description of the webhook's purpose."),
  status: field(WebhookStatus, 'Status of the webhook.'),
  disabledReason: nullable(WebhookDisabledReason, 'Reason why the webhook is disabled. Null if it is active.'),
  lastSequence: field(LongScalar, 'Sequence number of the last processed event.'),
  failingSince: nullable(Date, 'Start of the period in which all attempts have failed. Null if the last delivery succeeded.'),
  nextAttemptAt: nullable(Date, 'Time of the next retry. Null if no retry is scheduled.'),
  previousSecretExpiresAt: nullable(
    Date,
    'End of the period in which deliveries are also signed with the previous secret. Null if there is no previous secret.',
  ),
  createdBy: field(ID, 'ID of the user or API key that created the webhook, or `system`.'),
  createdAt: field(Date, 'Time at which the webhook was created.'),
  updatedAt: field(Date, 'Time at which the webhook was last changed.'),
}

export const Webhook = nodeType('Webhook', 'An endpoint that receives events as POST requests. The secret is not included.', {
  ...webhookFields,
  webhookId: nodeId('ID of the webhook: `whk_` followed by a ULID.'),
})
export type Webhook = InstanceType<typeof Webhook>

export const WebhookWithSecret = objectType('WebhookWithSecret', 'A webhook with its secret, which is returned only once.', {
  ...webhookFields,
  secret: field(
    String,
    'Secret used to sign deliveries as specified by Standard Webhooks: `whsec_` followed by base64. It is returned only once.',
  ),
  webhook: field(Webhook, 'The webhook without its secret, which makes it safe to cache.'),
})
export type WebhookWithSecret = InstanceType<typeof WebhookWithSecret>

export const WebhookDelivery = objectType('WebhookDelivery', 'Delivery of an event to a webhook, including all attempts.', {
  deliveryId: nodeId('ID of the delivery: `dlv_` followed by a ULID.'),
  eventId: field(ID, 'ID of the event: `evt_` followed by a ULID. Each attempt sends the ID in the `webhook-id` header.'),
  type: field(String, 'Type of the delivered event.'),
  sequence: nullable(LongScalar, 'Sequence number of the event in the journal. Null for a test event.'),
  status: field(DeliveryStatus, 'Status of the delivery.'),
  attempts: field(Int, 'Number of attempts so far.'),
  responseStatus: nullable(Int, 'HTTP status of the last response. Null if no response was received.'),
  error: nullable(String, 'Error from the last attempt. Null if it succeeded.'),
  durationMs: nullable(Int, 'Duration of the last attempt in milliseconds. Null if nothing was sent.'),
  createdAt: field(Date, 'Time of the first attempt.'),
  attemptedAt: field(Date, 'Time of the last attempt.'),
  nextAttemptAt: nullable(Date, 'Time of the next retry. Null if no retry is scheduled.'),
})
export type WebhookDelivery = InstanceType<typeof WebhookDelivery>

export const WebhookPage = createPageType(Webhook, 'Webhook')
export const WebhookDeliveryPage = createPageType(WebhookDelivery, 'WebhookDelivery')

export const DeletedWebhook = objectType('DeletedWebhook', 'A webhook that was deleted.', {
  webhookId: field(ID, 'ID of the webhook: `whk_` followed by a ULID.'),
  deleted: field(Boolean, 'Always true. If the deletion fails, the response contains an error instead.'),
})
export type DeletedWebhook = InstanceType<typeof DeletedWebhook>

export const CreateWebhookInput = inputType('CreateWebhookInput', 'Properties of a new webhook.', {
  url: field(
    String,
    'URL that receives events. It must use `https:`, have a public address and contain no credentials.',
    Text(1, 2048),
  ),
  types: withDefault(
    [String],
    ['*'],
    'Event types to send. `file.*` matches all file events, and `*` matches all events.',
    EventTypes(),
  ),
  contexts: optional([String], 'Keys of the contexts whose events are sent. Null means all.', ContextKeys()),
  description: withDefault(String, '', 'Free-text description of the webhook, at most 1,000 characters.', MultiLineText(0, 1000)),
})
export type CreateWebhookInput = InstanceType<typeof CreateWebhookInput>

export const UpdateWebhookInput = inputType('UpdateWebhookInput', 'Webhook fields to change. Omitted fields keep their values.', {
  url: update(
    String,
    'URL that receives events. It must use `https:`, have a public address and contain no credentials.',
    Text(1, 2048),
  ),
  types: update([String], 'Event types to send. `file.*` matches all file events, and `*` matches all events.', EventTypes()),
  contexts: optional([String], 'Keys of the contexts whose events are sent. Null means all.', ContextKeys()),
  description: update(String, 'Free-text description of the webhook, at most 1,000 characters.', MultiLineText(0, 1000)),
  status: update(WebhookStatus, 'New status of the webhook.'),
})
export type UpdateWebhookInput = InstanceType<typeof UpdateWebhookInput>

export const WebhookDeliveriesArgs = extendArgs(PageArgs, {
  webhookId: field(ID, 'ID of the webhook: `whk_` followed by a ULID.'),
  status: optional(DeliveryStatus, 'Returns only deliveries with this status.'),
})
export type WebhookDeliveriesArgs = InstanceType<typeof WebhookDeliveriesArgs>

export const ReplayWebhookArgs = argsType({
  webhookId: field(ID, 'ID of the webhook: `whk_` followed by a ULID.'),
  fromSequence: field(
    LongScalar,
    'Sequence number of the first event to resend, from 1 to the last sequence number plus 1.',
    IntegerRange(1, Number.MAX_SAFE_INTEGER),
  ),
})
export type ReplayWebhookArgs = InstanceType<typeof ReplayWebhookArgs>
