import { graphql } from '../api/graphql.js'

export const filesDocument = graphql(`
  query Files(
    $first: Int
    $after: String
    $last: Int
    $before: String
    $context: String
    $uploadedBy: ID
    $search: String
    $contentType: String
    $startDate: String
    $endDate: String
    $sort: FileSort
    $order: SortOrder
    $isAdmin: Boolean!
  ) {
    filesConnection(
      first: $first
      after: $after
      last: $last
      before: $before
      context: $context
      uploadedBy: $uploadedBy
      search: $search
      contentType: $contentType
      startDate: $startDate
      endDate: $endDate
      sort: $sort
      order: $order
    ) {
      edges {
        node {
          id originalFilename sizeBytes contentType contextKey createdAt quarantinedAt
          context { displayName }
          uploader { id name type }
          hold @include(if: $isAdmin) { heldAt }
        }
      }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }
`)
