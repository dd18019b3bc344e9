import { Arg, Args, ID, Mutation, Query, Resolver } from 'type-graphql'
import { PageArgs } from '../../api/graphql/page.js'
import { By, Requires } from '../../api/graphql/requires.js'
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

const WebhookId = () => Arg('webhookId', () => ID, { description: 'Shape whk_….' })

@Resolver(() => Webhook)
export class WebhookResolver {
  readonly #webhooks: WebhookService
  readonly #deliveries: WebhookDeliveryService

  constructor(webhooks: WebhookService, deliveries: WebhookDeliveryService) {
    this.#webhooks = webhooks
    this.#deliveries = deliveries
  }

  @Requires('admin')
  @Query(() => WebhookPage, { description: 'The tenant’s webhooks, newest first.' })
  webhooks(@By() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return this.#webhooks.list(actor, args)
  }

  @Requires('admin')
  @Query(() => Webhook, { description: 'One webhook.' })
  webhook(@By() actor: Actor, @WebhookId() webhookId: string) {
    return this.#webhooks.get(actor, webhookId)
  }

  @Requires('admin')
  @Query(() => WebhookDeliveryPage, { description: 'What was sent to a webhook, newest first: its latest 1,000 deliveries.' })
  webhookDeliveries(@By() actor: Actor, @Args(() => WebhookDeliveriesArgs) args: WebhookDeliveriesArgs) {
    return this.#deliveries.list(actor, args)
  }

  @Requires('admin')
  @Mutation(() => WebhookWithSecret, { description: 'Creates a webhook. Its secret is in this answer and nowhere else.' })
  createWebhook(
    @By() actor: Actor,
    @Arg('input', () => CreateWebhookInput, { description: 'What it is to be.' }) input: CreateWebhookInput,
  ) {
    return this.#webhooks.create(actor, input)
  }

  @Requires('admin')
  @Mutation(() => Webhook, { description: 'Changes, disables or enables a webhook.' })
  updateWebhook(
    @By() actor: Actor,
    @WebhookId() webhookId: string,
    @Arg('input', () => UpdateWebhookInput, { description: 'What it is to be.' }) input: UpdateWebhookInput,
  ) {
    return this.#webhooks.update(actor, webhookId, input)
  }

  @Requires('admin')
  @Mutation(() => DeletedWebhook, { description: 'Deletes a webhook with what is known of its deliveries.' })
  deleteWebhook(@By() actor: Actor, @WebhookId() webhookId: string) {
    return this.#webhooks.delete(actor, webhookId)
  }

  @Requires('admin')
  @Mutation(() => WebhookDelivery, { description: 'Sends a webhook.test at once, and answers with what came of it.' })
  testWebhook(@By() actor: Actor, @WebhookId() webhookId: string) {
    return this.#deliveries.test(actor, webhookId)
  }

  @Requires('admin')
  @Mutation(() => WebhookWithSecret, { description: 'Gives a webhook a new secret; for 24 hours the old one signs too.' })
  rotateWebhookSecret(@By() actor: Actor, @WebhookId() webhookId: string) {
    return this.#webhooks.rotateSecret(actor, webhookId)
  }

  @Requires('admin')
  @Mutation(() => Webhook, { description: 'Sends again from an event on, which is included.' })
  replayWebhook(@By() actor: Actor, @Args(() => ReplayWebhookArgs) { webhookId, fromSequence }: ReplayWebhookArgs) {
    return this.#webhooks.replay(actor, webhookId, fromSequence)
  }
}
