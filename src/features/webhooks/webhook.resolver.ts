import { UpdateInput } from '../../api/graphql/arguments.js'
import { Arg, Args, ID, Mutation, Query, Resolver } from '../../api/graphql/decorators.js'
import { PageArgs } from '../../api/graphql/page.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { WebhookService } from './webhook.service.js'
import {
  CreateWebhookInput,
  DeletedWebhook,
  ReplayWebhookArgs,
  UpdateWebhookInput,
  Webhook,
  WebhookDeliveriesArgs,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookPage,
  WebhookWithSecret,
} from './webhook.types.js'
import type { WebhookDeliveryService } from './webhook-delivery.service.js'

const WebhookId = () => Arg('webhookId', () => ID, 'ID of the webhook: `whk_` followed by a ULID.')

@Resolver(() => Webhook)
export class WebhookResolver {
  constructor(private readonly services: { webhooks: WebhookService; webhookDeliveries: WebhookDeliveryService }) {}

  @Requires('admin')
  @Query(() => WebhookPage, "Lists the tenant's webhooks, newest first.")
  webhooks(@CurrentActor() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return this.services.webhooks.list(actor, args)
  }

  @Requires('admin')
  @Query(() => Webhook, 'Returns one webhook. Returns the error `not_found` if the ID is unknown.')
  webhook(@CurrentActor() actor: Actor, @WebhookId() webhookId: string) {
    return this.services.webhooks.get(actor, webhookId)
  }

  @Requires('admin')
  @Query(() => WebhookDeliveryPage, 'Lists the latest 1,000 deliveries of a webhook, newest first.')
  webhookDeliveries(@CurrentActor() actor: Actor, @Args(() => WebhookDeliveriesArgs) args: WebhookDeliveriesArgs) {
    return this.services.webhookDeliveries.list(actor, args)
  }

  @Requires('admin')
  @Mutation(
    () => WebhookWithSecret,
    'Creates a webhook. Only this response contains its secret. Returns the error `conflict` if the tenant already has the maximum number of webhooks.',
  )
  createWebhook(
    @CurrentActor() actor: Actor,
    @Arg('input', () => CreateWebhookInput, 'Properties of the new webhook.') input: CreateWebhookInput,
  ) {
    return this.services.webhooks.create(actor, input)
  }

  @Requires('admin')
  @Mutation(() => Webhook, 'Changes, disables or enables a webhook.')
  updateWebhook(
    @CurrentActor() actor: Actor,
    @WebhookId() webhookId: string,
    @UpdateInput(() => UpdateWebhookInput) input: UpdateWebhookInput,
  ) {
    return this.services.webhooks.update(actor, webhookId, input)
  }

  @Requires('admin')
  @Mutation(() => DeletedWebhook, 'Deletes a webhook and its delivery history.')
  deleteWebhook(@CurrentActor() actor: Actor, @WebhookId() webhookId: string) {
    return this.services.webhooks.delete(actor, webhookId)
  }

  @Requires('admin')
  @Mutation(() => WebhookDelivery, 'Sends a `webhook.test` event immediately and returns the result of the delivery.')
  testWebhook(@CurrentActor() actor: Actor, @WebhookId() webhookId: string) {
    return this.services.webhookDeliveries.sendTestDelivery(actor, webhookId)
  }

  @Requires('admin')
  @Mutation(
    () => WebhookWithSecret,
    'Replaces the secret of a webhook. For 24 hours, deliveries are also signed with the previous secret.',
  )
  rotateWebhookSecret(@CurrentActor() actor: Actor, @WebhookId() webhookId: string) {
    return this.services.webhooks.rotateSecret(actor, webhookId)
  }

  @Requires('admin')
  @Mutation(() => Webhook, 'Resends all events from the specified sequence number onwards.')
  replayWebhook(@CurrentActor() actor: Actor, @Args(() => ReplayWebhookArgs) { webhookId, fromSequence }: ReplayWebhookArgs) {
    return this.services.webhooks.replay(actor, webhookId, fromSequence)
  }
}
