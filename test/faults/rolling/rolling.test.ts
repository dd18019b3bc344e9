import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { describeWith } from '../../support/installed-programs.js'

const program = fileURLToPath(new URL('./rolling.mjs', import.meta.url))

// `npm run rolling` runs the long version with realistic delays.
describeWith('nginx')('rolling restarts under load', () => {
  test.each(['nginx', 'tcp'])(
    'completes every call during a rolling restart behind a load balancer: %s',
    async (balancer) => {
      const args = ['--balancers', balancer, '--restarts', '2', '--callers', '2', '--delay-seconds', '4', '--poll-ms', '200']
      const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]).catch((error) => error)
      const { calls, ...rest } = JSON.parse(stdout)
      expect(rest).toEqual({ balancer, restarts: 2, failed: 0, failures: [] })
      expect(calls).toBeGreaterThan(50)
    },
    300_000,
  )
})
