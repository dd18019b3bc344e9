import { expect } from '@jest/globals'
import type { ApiResponse } from './world.js'

const isoMillis = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
const requestId = /^req_[0-9a-hjkmnp-tv-z]{26}$/
const ulid = '[0-7][0-9a-hjkmnp-tv-z]{25}'

/** Matches an ISO 8601 timestamp in UTC with milliseconds and Z. */
export const anyTimestamp = expect.stringMatching(isoMillis)
/** Matches an id, which consists of a prefix and a lower-case ULID. */
export const anyId = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_${ulid}$`))

/** Returns the data of a successful response and checks its envelope. */
export function getData(
  response: ApiResponse,
  { status = 200, message = false, timestamp = true }: { status?: number; message?: boolean; timestamp?: boolean } = {},
) {
  expect(response).toMatchObject({ status, body: { status: 'SUCCESS' } })
  const members = ['data', ...(message ? ['message'] : []), 'status', ...(timestamp ? ['timestamp'] : [])]
  expect(Object.keys(response.body).sort()).toEqual(members)
  if (timestamp) expect(response.body.timestamp).toEqual(anyTimestamp)
  if (message) expect(response.body.message).toEqual(expect.stringMatching(/\S/))
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(response.headers.get('x-request-id')).toMatch(requestId)
  return response.body.data
}

/** Returns `[status, code]` of an error response and checks its envelope. */
export function toStatusAndCode(response: ApiResponse): [number, string] {
  expect(Object.keys(response.body).sort()).toEqual(['error', 'message', 'request_id', 'status', 'timestamp'])
  const { status, message, error, request_id, timestamp } = response.body
  expect({ status, message, timestamp }).toEqual({
    status: 'ERROR',
    message: expect.stringMatching(/\S/),
    timestamp: anyTimestamp,
  })
  expect(Object.keys(error).sort()).toEqual(['code', 'details'])
  expect(error.details).toEqual(expect.any(Object))
  expect(request_id).toMatch(requestId)
  expect(response.headers.get('x-request-id')).toBe(request_id)
  if (error.code === 'unauthenticated') expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
  if (error.code === 'method_not_allowed') expect(response.headers.get('allow')).toMatch(/^[A-Z, ]+$/)
  if (response.status === 503 || response.status === 429) expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  return [response.status, error.code]
}

/** Returns the invalid fields of a 400 response as named in the request. */
export function getInvalidFields(response: ApiResponse): string[] {
  expect(toStatusAndCode(response)).toEqual([400, 'bad_user_input'])
  const { fields } = response.body.error.details as { fields: { field: string; message: string }[] }
  for (const fault of fields) expect(fault).toEqual({ field: expect.any(String), message: expect.stringMatching(/\S/) })
  return fields.map(({ field }) => field).sort()
}

export const getGraphqlCode = (response: ApiResponse): string | undefined => response.body.errors?.[0]?.extensions?.code

/** Returns the items on a page and checks its shape. */
export function getItems(response: ApiResponse) {
  const data = getData(response)
  expect(Object.keys(data).sort()).toEqual(['data', 'pagination'])
  expect(Object.keys(data.pagination).sort()).toEqual([
    'has_next',
    'has_previous',
    'page',
    'page_size',
    'total_items',
    'total_pages',
  ])
  return data.data
}
