import { expect, test } from '@jest/globals'
import { UploadSlots } from '../../src/access/concurrency.js'

/** Acquires all slots for one holder and returns their number and the reason for the limit. */
function acquireAll(slots: UploadSlots, holder: { tenantId: string; id: string }): [number, string] {
  for (let held = 0; ; held++) {
    try {
      slots.acquire(holder)
    } catch (error) {
      return [held, (error as Error).message.replace(/\. Retry later\.$/, '')]
    }
  }
}

test('releases an upload slot only once', () => {
  const slots = new UploadSlots(4)
  const giveBack = slots.acquire({ tenantId: 'ten_1', id: 'key_1' })
  expect(() => slots.acquire({ tenantId: 'ten_1', id: 'key_1' })).toThrow(
    expect.objectContaining({ code: 'rate_limited', retryAfter: 1 }),
  )
  giveBack()
  giveBack()
  const taken = ['key_1', 'key_2', 'key_3'].map((id) => acquireAll(slots, { tenantId: `ten_of_${id}`, id })[0])
  expect(taken).toEqual([1, 1, 1])
})

test('limits a credential to a quarter and a tenant to half of all upload slots', () => {
  const slots = new UploadSlots(256)
  expect(['key_1', 'key_2', 'key_3'].map((id) => acquireAll(slots, { tenantId: 'ten_1', id }))).toEqual([
    [64, 'This credential already has the maximum of 64 concurrent uploads'],
    [64, 'This credential already has the maximum of 64 concurrent uploads'],
    [0, 'This tenant already has the maximum of 128 concurrent uploads'],
  ])
})

test('leaves a quarter of the upload slots to other tenants if two tenants are busy', () => {
  const slots = new UploadSlots(256)
  const taken = ['ten_1', 'ten_2', 'ten_3', 'ten_4'].map((tenantId) => {
    const [first] = acquireAll(slots, { tenantId, id: `${tenantId} a` })
    const [second, why] = acquireAll(slots, { tenantId, id: `${tenantId} b` })
    return [first + second, why]
  })
  expect(taken).toEqual([
    [128, 'This credential already has the maximum of 64 concurrent uploads'],
    [64, 'This tenant already has 64 concurrent uploads. The 64 free upload slots are reserved for other tenants'],
    [64, 'The service already has the maximum of 256 concurrent uploads'],
    [0, 'The service already has the maximum of 256 concurrent uploads'],
  ])
})
