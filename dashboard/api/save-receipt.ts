import { type ApiError, toApiError } from './api-error.js'
import { client } from './client.js'
import { graphql } from './graphql.js'
import { saveFile } from './save-file.js'

const receiptDocument = graphql(
  `query Receipt($fileId: ID, $callId: ID) { receipt(fileId: $fileId, callId: $callId) { receipt } }`,
)

export async function saveReceipt(
  id: { fileId: string } | { callId: string },
  name: string,
): Promise<{ receipt: string; error?: undefined } | { receipt?: undefined; error: ApiError }> {
  const { data, error } = await client.query(receiptDocument, id, { requestPolicy: 'network-only' }).toPromise()
  const receipt = data?.receipt?.receipt
  if (!receipt) return { error: toApiError(error) }
  saveFile(new Blob([receipt], { type: 'application/jose' }), `${name}.receipt.jws`)
  return { receipt }
}
