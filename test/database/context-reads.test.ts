import 'reflect-metadata'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { FileContextService } from '../../src/features/contexts/context.service.js'
import { LedgerFixture } from '../support/ledger-fixture.js'

let fixture: LedgerFixture
beforeAll(async () => {
  fixture = await LedgerFixture.open()
})
afterAll(() => fixture.close())

const createService = () => new FileContextService({ db: fixture.database, ledger: fixture.createLedger(), maxUploadMb: 50 })

test('shares one statement among concurrent context reads for a tenant', async () => {
  const created = await Promise.all(['alpha', 'beta'].map((key) => fixture.createContext(key)))
  const service = createService()
  const query = jest.spyOn(fixture.database.pool, 'query')
  const keys = ['alpha', 'beta', 'alpha', 'missing', 'beta', 'alpha']
  const found = await Promise.all(keys.map((key) => service.find(fixture.key, key)))
  const ids = { alpha: created[0]!.contextId, beta: created[1]!.contextId, missing: undefined }
  expect(found.map((context) => context?.contextId)).toEqual(keys.map((key) => ids[key as keyof typeof ids]))
  expect(query).toHaveBeenCalledTimes(1)
  query.mockRestore()
})

test('returns changed context rules even if an earlier read is still running', async () => {
  await fixture.createContext('gamma')
  const service = createService()
  const running = service.find(fixture.key, 'gamma')
  await service.update(fixture.key, 'gamma', { displayName: 'Changed' })
  expect((await service.find(fixture.key, 'gamma'))?.displayName).toBe('Changed')
  await running
})
