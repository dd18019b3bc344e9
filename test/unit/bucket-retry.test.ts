import { expect, test } from '@jest/globals'
import { retry } from '../../src/platform/storage/bucket/retry.js'

const limits = { requestMs: 10_000, idleMs: 10_000, callMs: 500, retryDelayMs: 10 }
const silence = () => new Promise<never>(() => {})
const getReason = (attempt: (nth: number) => Promise<never>) => {
  let nth = 0
  return retry({ action: 'do it', limits }, () => attempt(++nth)).catch(({ code, cause }) => [code, String(cause)])
}

test('reports the reason for the previous failure if the last bucket attempt is aborted', async () => {
  const rejected = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1'), { code: 'ECONNREFUSED' })
  expect(await getReason((nth) => (nth === 1 ? Promise.reject(rejected) : silence()))).toEqual([
    'storage_unavailable',
    'Error: Cannot do it: connect ECONNREFUSED 127.0.0.1',
  ])
})

test('reports a timeout if a bucket call never receives a response', async () => {
  expect(await getReason(silence)).toEqual([
    'storage_unavailable',
    expect.stringMatching(/^Error: Cannot do it: no response within \d+ ms$/),
  ])
})
