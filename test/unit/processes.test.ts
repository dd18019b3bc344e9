import { describe, expect, test } from '@jest/globals'
import { getProcessShare } from '../../src/platform/processes/process-number.js'
import { mergeMetrics } from '../../src/platform/processes/supervisor-metrics.js'

describe('limits shared by all processes', () => {
  test.each([
    [4, [2, 2]],
    [5, [3, 2]],
    [8, [3, 3, 2]],
    [4, [1, 1, 1, 1]],
  ])('splits a shared limit of %i without a remainder: %j', (total, shares) => {
    const of = shares.length
    expect(shares.map((_, at) => getProcessShare(total, { number: at + 1, count: of }))).toEqual(shares)
  })

  test('assigns each process a limit of at least one if the shared limit is too small', () => {
    expect(getProcessShare(2, { number: 3, count: 3 })).toBe(1)
  })
})

describe('combined metrics of several processes', () => {
  const of = (number: number) =>
    `# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{process="${number}"} ${number}\n\n# HELP up Up: # HELP is no comment here.\n# TYPE up gauge\nup{process="${number}"} 1\n`

  test('describes each metric of several processes only once, before all samples', () => {
    expect(mergeMetrics([of(1), of(2)])).toBe(
      '# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{process="1"} 1\ncalls_total{process="2"} 2\n\n# HELP up Up: # HELP is no comment here.\n# TYPE up gauge\nup{process="1"} 1\nup{process="2"} 1\n',
    )
  })

  test('omits the metrics of a process that does not respond', () => {
    expect(mergeMetrics([of(1), ''])).toBe(mergeMetrics([of(1)]))
  })
})
