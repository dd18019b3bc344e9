import { runInNewContext } from 'node:vm'
import { describe, expect, test } from '@jest/globals'
import { TenantBatches } from '../../src/platform/db/tenant-batches.js'

describe('lookups of one event loop turn', () => {
  const ofTenants = (load: (tenantId: string, requested: readonly { id: number }[]) => Promise<(string | null)[]>) =>
    new TenantBatches<{ tenantId: string; id: number }, string>(load)

  test('combines the lookups of one event loop turn into one query per tenant, and returns each lookup its own result', async () => {
    const loads: string[] = []
    const batches = ofTenants(async (tenantId, requested) => {
      loads.push(tenantId)
      return requested.map(({ id }) => (id === 2 ? null : `${tenantId}${id}`))
    })
    const requested = ['a', 'b'].flatMap((tenantId) => [1, 2, 3].map((id) => batches.find({ tenantId, id })))
    expect(await Promise.all(requested)).toEqual(['a1', null, 'a3', 'b1', null, 'b3'])
    expect(loads).toEqual(['a', 'b'])
  })

  test('a failed query affects only the lookups for its tenant', async () => {
    for (const thrown of [new Error('gone'), runInNewContext('new Error("gone")'), 'gone', undefined]) {
      const batches = ofTenants(async (tenantId, requested) => {
        if (tenantId === 'a') throw thrown
        return requested.map(() => 'found')
      })
      const [ofA, ofB] = [batches.find({ tenantId: 'a', id: 1 }), batches.find({ tenantId: 'b', id: 1 })]
      await expect(ofA).rejects.toBe(thrown)
      expect(await ofB).toBe('found')
    }
  })
})
