import { GraphQLError, GraphQLScalarType } from 'graphql'
import { IncomingFile } from '../body/incoming-file.js'

/** A file of the multipart request specification, or a part of a REST upload. */
export const UploadScalar = new GraphQLScalarType<unknown, never>({
  name: 'Upload',
  description: 'A file, sent by the GraphQL multipart request specification.',
  specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  parseValue: (value) => {
    if (value instanceof IncomingFile) return value
    throw new GraphQLError('must be a file, sent by the GraphQL multipart request specification')
  },
  parseLiteral: () => {
    throw new GraphQLError('must be a variable that stands for a file')
  },
  serialize: () => {
    throw new GraphQLError('a file cannot be answered')
  },
})
