import { graphql, type ResultOf } from '../api/graphql.js'

export const webhookDocument = graphql(`
  query Webhook($id: ID!) {
    webhook(webhookId: $id) {
      id url types contexts description status disabledReason failingSince nextAttemptAt lastSequence previousSecretExpiresAt createdAt
    }
    webhookDeliveries(webhookId: $id, pageSize: 50) {
      data { deliveryId type sequence status attempts responseStatus error durationMs attemptedAt nextAttemptAt }
      pagination { totalItems }
    }
  }
`)

export type WebhookDetails = NonNullable<ResultOf<typeof webhookDocument>['webhook']>
