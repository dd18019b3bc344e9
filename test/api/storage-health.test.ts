import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const fields = '{ countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift }'
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

test('rejects a query that requests storage health under several aliases as too expensive', async () => {
  const { admin } = await world.createTenant()
  const response = await admin.graphql(`{ a: storageHealth ${fields} b: storageHealth ${fields} }`)
  expect(response.body.errors).toMatchObject([{ message: expect.stringContaining('The limit is 50000.') }])
  expect((await admin.graphql(`{ storageHealth ${fields} }`)).body.data).toEqual({ storageHealth: healthy })
})

test('limits concurrent storage health checks to one per tenant and two in total', async () => {
  const [one, other, third] = [await world.createTenant(), await world.createTenant(), await world.createTenant()]
  const { storageHealth } = world.app.services
  const { verify } = storageHealth
  let end = () => {}
  const held = new Promise<void>((resolve) => {
    end = resolve
  })
  let running = 0
  let arrived = () => {}
  const both = new Promise<void>((resolve) => {
    arrived = resolve
  })
  storageHealth.verify = async (options) => {
    if (++running === 2) arrived()
    await held
    return verify.call(storageHealth, options)
  }
  const request = async (tenant: typeof one) => (await tenant.admin.graphql(`{ storageHealth ${fields} }`)).body
  const requested = [request(one), request(other)]
  await both
  expect((await request(one)).errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }])
  expect((await request(third)).errors).toMatchObject([{ extensions: { code: 'OVERLOADED' } }])
  end()
  for (const { data } of await Promise.all(requested)) expect(data).toEqual({ storageHealth: healthy })
  storageHealth.verify = verify
})
