import { expect, test } from '@jest/globals'
import { UploadSlots } from '../../src/auth/upload-slots.js'

test('by tenant and in all; a slot returned twice is returned once', () => {
  const slots = new UploadSlots({ tenant: 2, all: 3 })
  const giveBack = slots.take('ten_1')
  slots.take('ten_1')
  expect(() => slots.take('ten_1')).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfter: 1 }))
  slots.take('ten_2')
  expect(() => slots.take('ten_2')).toThrow(/3 are under way/)
  giveBack()
  giveBack()
  slots.take('ten_3')
  expect(() => slots.take('ten_4')).toThrow(/3 are under way/)
})

test('two busy tenants leave room for a third, and three for a fourth as far as a quarter goes', () => {
  const slots = new UploadSlots({ tenant: 128, all: 256 })
  const taken = ['ten_1', 'ten_2', 'ten_3', 'ten_4'].map((tenantId) => {
    for (let held = 0; ; held++) {
      try {
        slots.take(tenantId)
      } catch (error) {
        return [held, (error as Error).message.replace(/^[^:]*: |;.*$/g, '')]
      }
    }
  })
  expect(taken).toEqual([
    [128, 'this tenant has 128 under way, the most there may be'],
    [64, 'this tenant has 64 under way, and the 64 that are free are for others'],
    [64, '256 are under way, the most there may be'],
    [0, '256 are under way, the most there may be'],
  ])
})
