import { ArgsType, Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { enumOf } from '../../api/graphql/enum.js'
import { AsNodeId, Node } from '../../api/graphql/node.js'
import { PageArgs, pageType } from '../../api/graphql/page.js'
import { NotNull, Optional, Prose, Rule, Text, Whole } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { EventTypes } from '../events/event.types.js'

export const WebhookStatus = enumOf('WebhookStatus', 'Whether a webhook is sent anything.', {
  active: 'It is.',
  disabled: 'Not until it is enabled; then it goes on where it stopped.',
})
export type WebhookStatus = keyof typeof WebhookStatus

const WebhookDisabledReason = enumOf('WebhookDisabledReason', 'Why a webhook is disabled.', {
  requested: 'An admin disabled it.',
  gone: 'It answered 410.',
  failing: 'For five days nothing could be delivered.',
})
type WebhookDisabledReason = keyof typeof WebhookDisabledReason

export const DeliveryStatus = enumOf('DeliveryStatus', 'How a delivery stands.', {
  pending: 'It failed, and is tried again.',
  delivered: 'It was answered with a 2xx.',
  failed: 'It was given up.',
})
export type DeliveryStatus = keyof typeof DeliveryStatus

@ObjectType({ simpleResolvers: true })
abstract class WebhookFields {
  @Field(() => ID, { description: 'Shape whk_….' })
  webhookId!: string
  @Field(() => String, { description: 'Where events are sent by POST.' })
  url!: string
  @Field(() => [String], { description: 'Types of events; file.* stands for all of a kind, * for all.' })
  types!: string[]
  @Field(() => [String], {
    nullable: true,
    description: 'Keys of the only contexts whose events are sent; null: of all. Events without a context are sent in any case.',
  })
  contexts!: string[] | null
  @Field(() => String, { description: 'What it is for.' })
  description!: string
  @Field(() => WebhookStatus, { description: 'Whether it is sent anything.' })
  status!: WebhookStatus
  @Field(() => WebhookDisabledReason, { nullable: true, description: 'Why it is disabled; null where it is not.' })
  disabledReason!: WebhookDisabledReason | null
  @Field(() => LongScalar, { description: 'The last event of the journal that it is through with.' })
  lastSequence!: number
  @Field(() => Date, { nullable: true, description: 'Since when nothing could be delivered; null where the last one was.' })
  failingSince!: Date | null
  @Field(() => Date, { nullable: true, description: 'When the next attempt is made after one that failed.' })
  nextAttemptAt!: Date | null
  @Field(() => Date, { nullable: true, description: 'Until when the secret before a rotation signs too.' })
  previousSecretExpiresAt!: Date | null
  @Field(() => ID, { description: 'Who made it: key_…, usr_… or system.' })
  createdBy!: string
  @Field(() => Date, { description: 'When it was created.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it was last changed.' })
  updatedAt!: Date
}

@ObjectType({ implements: Node, simpleResolvers: true, description: 'Where events are sent to, without its secret.' })
export class Webhook extends WebhookFields {
  @AsNodeId()
  override webhookId!: string
}

@ObjectType({ simpleResolvers: true, description: 'A webhook with its secret, which is returned only once.' })
export class WebhookWithSecret extends WebhookFields {
  @Field(() => String, {
    description:
      'Secret that signs the deliveries, as Standard Webhooks specifies: whsec_ followed by base64. It is returned only once.',
  })
  secret!: string
  @Field(() => Webhook, { description: 'The webhook without its secret, for client caches.' })
  webhook!: Webhook
}

@ObjectType({ simpleResolvers: true, description: 'What came of sending one event to one webhook.' })
export class WebhookDelivery {
  @Field(() => ID, { description: 'Shape dlv_….' })
  deliveryId!: string
  @Field(() => ID, { description: 'Shape evt_…; the same in each attempt, as the header webhook-id.' })
  eventId!: string
  @Field(() => String, { description: 'The event’s type.' })
  type!: string
  @Field(() => LongScalar, { nullable: true, description: 'The event’s place in the journal; null for a test.' })
  sequence!: number | null
  @Field(() => DeliveryStatus, { description: 'How it stands.' })
  status!: DeliveryStatus
  @Field(() => Int, { description: 'How often it was tried.' })
  attempts!: number
  @Field(() => Int, { nullable: true, description: 'The status of the last answer; null where there was none.' })
  responseStatus!: number | null
  @Field(() => String, { nullable: true, description: 'Why there was no answer, or none that counts.' })
  error!: string | null
  @Field(() => Int, { nullable: true, description: 'How long the last attempt took, in milliseconds.' })
  durationMs!: number | null
  @Field(() => Date, { description: 'When it was first tried.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it was last tried.' })
  attemptedAt!: Date
  @Field(() => Date, { nullable: true, description: 'When it is tried again.' })
  nextAttemptAt!: Date | null
}

export const WebhookPage = pageType(Webhook, 'Webhook')
export const WebhookDeliveryPage = pageType(WebhookDelivery, 'WebhookDelivery')

@ObjectType({ simpleResolvers: true, description: 'A webhook that was deleted.' })
export class DeletedWebhook {
  @Field(() => ID, { description: 'Shape whk_….' })
  webhookId!: string
  @Field(() => Boolean, { description: 'Always true.' })
  deleted!: boolean
}

const isList = (value: unknown) => Array.isArray(value) && value.length >= 1 && value.length <= 100

@InputType({ description: 'A new webhook.' })
export class CreateWebhookInput {
  @Field(() => String, { description: 'An https: URL that leads to public addresses.' })
  @Text(1, 2048)
  url!: string
  @Field(() => [String], { defaultValue: ['*'], description: 'Types of events; file.* stands for all of a kind, * for all.' })
  @EventTypes()
  types!: string[]
  @Field(() => [String], { nullable: true, description: 'Keys of the only contexts whose events are sent; null: of all.' })
  @Optional()
  @Rule(isList, 'must be 1 to 100 context keys', { minItems: 1, maxItems: 100 })
  contexts?: string[] | null
  @Field(() => String, { defaultValue: '', description: 'What it is for: at most 1,000 characters.' })
  @Prose(0, 1000)
  description!: string
}

@InputType({ description: 'What is to change of a webhook; what is left out stays.' })
export class UpdateWebhookInput {
  @Field(() => String, { nullable: true, description: 'An https: URL that leads to public addresses.' })
  @NotNull()
  @Text(1, 2048)
  url?: string
  @Field(() => [String], { nullable: true, description: 'Types of events; file.* stands for all of a kind, * for all.' })
  @NotNull()
  @EventTypes()
  types?: string[]
  @Field(() => [String], { nullable: true, description: 'Keys of the only contexts whose events are sent; null: of all.' })
  @Optional()
  @Rule(isList, 'must be 1 to 100 context keys', { minItems: 1, maxItems: 100 })
  contexts?: string[] | null
  @Field(() => String, { nullable: true, description: 'What it is for: at most 1,000 characters.' })
  @NotNull()
  @Prose(0, 1000)
  description?: string
  @Field(() => WebhookStatus, { nullable: true, description: 'Whether it is sent anything.' })
  @NotNull()
  status?: WebhookStatus
}

@ArgsType()
export class WebhookDeliveriesArgs extends PageArgs {
  @Field(() => ID, { description: 'Shape whk_….' })
  webhookId!: string
  @Field(() => DeliveryStatus, { nullable: true, description: 'Only those that stand so.' })
  status?: DeliveryStatus
}

@ArgsType()
export class ReplayWebhookArgs {
  @Field(() => ID, { description: 'Shape whk_….' })
  webhookId!: string
  @Field(() => LongScalar, { description: 'The first event that is sent again: from 1 to the journal’s last and one more.' })
  @Whole(1, Number.MAX_SAFE_INTEGER)
  fromSequence!: number
}
