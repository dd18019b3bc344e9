import { graphql, type ResultOf } from '../api/graphql.js'

export const keysDocument = graphql(`
  query Keys {
    apiKeys(pageSize: 100) {
      data { id name keyPrefix scopes contexts status createdAt createdBy expiresAt lastUsedAt }
      pagination { totalItems }
    }
  }
`)

export type KeyRow = NonNullable<ResultOf<typeof keysDocument>['apiKeys']>['data'][number]
