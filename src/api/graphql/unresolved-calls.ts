import { type DocumentNode, type GraphQLSchema, Kind } from 'graphql'
import { getOperation } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import type { PublicError } from '../../platform/errors/errors.js'
import { maxRootFields } from './document-limits.js'

/** Logs a request that fails before any resolver runs, for example because of an invalid document or variable. */
export async function logUnresolvedCalls(
  schema: GraphQLSchema,
  call: Call,
  document: DocumentNode,
  operationName: string | null | undefined,
  error: PublicError,
): Promise<void> {
  // Write no more rows than a valid document has root fields. An invalid document may contain thousands.
  for (const { key, endpoint } of getRootFields(schema, document, operationName).slice(0, maxRootFields)) {
    if (getOperation(endpoint)) await call.admission.logFailure(call.startAttempt(key, endpoint), error, error)
  }
}

function getRootFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): { key: string; endpoint: Endpoint }[] {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION)
  const operation = operations.find((node) => !operationName || node.name?.value === operationName)
  const type = operation?.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType()
  return (operation?.selectionSet.selections ?? []).flatMap((selection) => {
    if (selection.kind !== Kind.FIELD) return []
    const endpoint = type?.getFields()[selection.name.value]?.extensions.endpoint as Endpoint | undefined
    return endpoint ? [{ key: selection.alias?.value ?? selection.name.value, endpoint }] : []
  })
}
