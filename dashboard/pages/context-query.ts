import { graphql, type ResultOf } from '../api/graphql.js'

export const contextDocument = graphql(`
  query Context($key: String!, $withUsage: Boolean!) {
    context(contextKey: $key) {
      id contextKey displayName description allowedExtensions maxFileSizeMb storageQuotaMb storageUsedBytes status createdAt
      rejectBlankFiles rejectCorruptFiles scanForViruses
      usage @include(if: $withUsage) { calls fileCount filesBlocked filesUploaded }
      policy { retentionDays trashDays rejectEncryptedFiles rejectActiveContent acceptUnscanned rescan }
    }
  }
`)

export type Context = NonNullable<ResultOf<typeof contextDocument>['context']>
