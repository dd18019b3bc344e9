import { graphql } from '../api/graphql.js'

export const filesDocument = graphql(`
  query Files(
    $first: Int
    $after: String
    $last: Int
    $before: String
    $context: String
    $uploadedBy: ID
    $namePrefix: String
    $contentType: String
    $startDate: String
    $endDate: String
    $sort: FileSort
    $order: SortOrder
  ) {
    filesConnection(
      first: $first
      after: $after
      last: $last
      before: $before
      context: $context
      uploadedBy: $uploadedBy
      namePrefix: $namePrefix
      contentType: $contentType
      startDate: $startDate
      endDate: $endDate
      sort: $sort
      order: $order
    ) {
      edges { node { id originalFilename sizeBytes contentType contextKey createdAt downloadCount uploader { id name type } } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }
`)
