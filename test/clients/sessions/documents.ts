import { graphql } from './generated/graphql/gql.js'

export const upload = graphql(`
  mutation Upload($file: Upload!, $context: String!) {
    uploadFile(file: $file, context: $context) {
      id
      originalFilename
      sizeBytes
    }
  }
`)

export const list = graphql(`
  query List($context: String!, $first: Int!, $unknown: ID!) {
    filesConnection(context: $context, first: $first, sort: original_filename) {
      totalCount
      edges {
        node {
          id
          originalFilename
          sizeBytes
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
    file(fileId: $unknown) {
      id
    }
  }
`)

export const downloadUrl = graphql(`
  mutation DownloadUrl($id: ID!) {
    createDownloadUrl(fileId: $id) {
      downloadUrl
    }
  }
`)

export const node = graphql(`
  query Node($id: ID!) {
    node(id: $id) {
      __typename
      id
      ... on File {
        contentType
        createdAt
      }
    }
  }
`)
