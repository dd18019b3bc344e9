// The package has its types in JSDoc comments, which tsc does not read from node_modules.
declare module 'apollo-upload-client/UploadHttpLink.mjs' {
  import type { ApolloLink } from '@apollo/client'

  export default class UploadHttpLink extends ApolloLink {
    constructor(options: { uri: string; headers: Record<string, string> })
  }
}
