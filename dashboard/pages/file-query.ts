import { graphql, type ResultOf } from '../api/graphql.js'

/** Queries one file through the file list, because the query for a single file rejects quarantined files. */
export const fileDocument = graphql(`
  query File($id: String!, $isAdmin: Boolean!) {
    filesConnection(search: $id, first: 1) {
      edges {
        node {
          id originalFilename contentType sizeBytes contextKey checksum metadata createdAt downloadCount lastDownloadedAt quarantinedAt
          context { displayName }
          uploader { id name type }
          hold @include(if: $isAdmin) { reason heldAt }
          validation {
            outcome validatedAt
            engine { name version signaturesVersion }
            checks { check outcome message durationMs }
          }
        }
      }
    }
  }
`)

export type FileDetails = NonNullable<ResultOf<typeof fileDocument>['filesConnection']>['edges'][number]['node']
