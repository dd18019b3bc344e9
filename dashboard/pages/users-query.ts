import { graphql, type ResultOf } from '../api/graphql.js'

export const usersDocument = graphql(`
  query Users {
    users(pageSize: 100) { data { id name email scopes status hasSecondFactor } pagination { totalItems } }
  }
`)

export type UserRow = NonNullable<ResultOf<typeof usersDocument>['users']>['data'][number]
