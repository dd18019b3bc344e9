import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildClientSchema, getIntrospectionQuery } from 'graphql'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { type TestTenant, World } from '../support/world.js'

// Sends the same requests as Apollo Sandbox from this origin, with the headers listed in its preflight request.
const origin = 'https://studio.apollographql.com'
const sandboxHeaders = ['authorization', 'apollo-require-preflight', 'apollographql-client-name', 'x-apollo-operation-name']

describe(`Apollo Sandbox with CORS_ORIGINS=${origin}`, () => {
  let world: World
  let tenant: TestTenant
  beforeAll(async () => {
    world = await World.open({ CORS_ORIGINS: origin })
    tenant = await world.createTenant()
    await tenant.createContext('notes')
  })
  afterAll(() => world.close())

  const send = (body: string | FormData, headers: Record<string, string> = {}) =>
    fetch(`${world.url}/graphql`, {
      method: 'POST',
      headers: {
        Origin: origin,
        'Apollo-Require-Preflight': 'true',
        'apollographql-client-name': 'explorer',
        ...(typeof body === 'string' && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body,
    })
  const authorization = () => ({ Authorization: `Bearer ${tenant.admin.credential}` })

  test('accepts preflight requests with all headers that Apollo Sandbox sends', async () => {
    const response = await fetch(`${world.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': sandboxHeaders.join(','),
      },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-allow-methods')).toContain('POST')
    const allowed = response.headers.get('access-control-allow-headers')!.toLowerCase().split(/, */)
    expect(allowed).toEqual(expect.arrayContaining(sandboxHeaders))
  })

  test('returns the schema to Apollo Sandbox without a credential', async () => {
    const response = await send(JSON.stringify({ operationName: 'IntrospectionQuery', query: getIntrospectionQuery() }))
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    const { data } = (await response.json()) as { data: never }
    expect(buildClientSchema(data).getQueryType()!.getFields()).toHaveProperty('files')
  })

  test('runs a query from Apollo Sandbox with an API key', async () => {
    const response = await send(JSON.stringify({ operationName: 'Me', query: 'query Me { me { id } }' }), authorization())
    expect(await response.json()).toEqual({ data: { me: { id: expect.stringMatching(/^key_/) } } })
  })

  test('uploads a file from Apollo Sandbox as a multipart form', async () => {
    const query = 'mutation Upload($file: Upload!) { uploadFile(file: $file, context: "notes") { originalFilename } }'
    const form = new FormData()
    form.set('operations', JSON.stringify({ operationName: 'Upload', query, variables: { file: null } }))
    form.set('map', JSON.stringify({ 0: ['variables.file'] }))
    form.set('0', new Blob(['from Sandbox']), 'sandbox.txt')
    const response = await send(form, authorization())
    expect(await response.json()).toEqual({ data: { uploadFile: { originalFilename: 'sandbox.txt' } } })
  })

  test('delivers subscription events to Apollo Sandbox if it authenticates in connection_init', async () => {
    class SandboxSocket extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { origin })
      }
    }
    const client = createClient({
      url: `${world.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: SandboxSocket,
      connectionParams: authorization(),
    })
    const events = client.iterate<{ events: { type: string } }>({ query: 'subscription { events(after: 0) { type } }' })
    const first = await events.next()
    expect(first.value.data.events.type).toEqual(expect.any(String))
    await events.return!()
    await client.dispose()
  })
})
