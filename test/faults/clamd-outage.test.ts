import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, jest, test } from '@jest/globals'
import { eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'
import { findFreePort, Service } from '../support/service.js'
import { type ApiResponse, Caller } from '../support/world.js'

// Services start and stop slowly on a busy machine.
jest.setTimeout(180_000)

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const code = ({ status, body }: ApiResponse) => [status, body.error?.code]

/** Polls because readiness is cached for up to five seconds. */
async function waitForReadiness(caller: Caller, status: number): Promise<ApiResponse> {
  for (;;) {
    const response = await caller.raw('/health/ready')
    if (response.status === status) return response
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

describeWith('clamd')('clamd outages', () => {
  test.each(['tcpUrl', 'unixUrl'] as const)(
    'returns 503 for uploads that require a scan while clamd is unavailable (%s)',
    async (url) => {
      const clamd: RealClamd = await startRealClamd()
      opened.push(() => clamd.close())
      const dataDir = await mkdtemp(join(tmpdir(), 'assay-clamd-outage-'))
      opened.push(() => rm(dataDir, { recursive: true, force: true }))
      const service = await Service.start({ PORT: await findFreePort(), DATA_DIR: dataDir, SCANNER_URL: clamd[url] })
      opened.push(() => service.stop('SIGKILL'))
      const key = new Caller(service.url, /API key\s+(\S+)/.exec(service.stdout)?.[1])
      for (const [context_key, scan_for_viruses] of [
        ['scanned', true],
        ['trusting', false],
      ] as const) {
        const rules = {
          context_key,
          display_name: context_key,
          allowed_extensions: ['txt'],
          max_file_size_mb: 5,
          scan_for_viruses,
        }
        expect((await key.post('/contexts', rules)).status).toBe(201)
      }
      const large = Buffer.alloc(2 * 1024 * 1024, 'text\n')
      const uploads = async () => [
        code(await key.upload('scanned', 'a.txt', 'text')),
        code(await key.upload('scanned', 'a.txt', large)),
        code(await key.upload('scanned', 'a.txt', eicar)),
        code(await key.upload('trusting', 'a.txt', 'text')),
      ]
      const well = [
        [201, undefined],
        [201, undefined],
        [422, 'virus_detected'],
        [201, undefined],
      ]
      const away = [503, 'scanner_unavailable']
      expect(await uploads()).toEqual(well)
      await waitForReadiness(key, 200)

      await clamd.kill('SIGKILL')
      expect(await uploads()).toEqual([away, away, away, [201, undefined]])
      expect(await waitForReadiness(key, 503)).toMatchObject({
        body: { checks: { scanner: { status: 'down' }, database: { status: 'up' }, storage: { status: 'up' } } },
      })

      await clamd.restart()
      expect(await uploads()).toEqual(well)
      expect(await waitForReadiness(key, 200)).toMatchObject({
        body: { checks: { scanner: { status: 'up', engine: 'ClamAV' } } },
      })
      const { security, overview } = (await key.get('/stats')).body.data
      expect([security.by_reason.virus_detected, security.files_blocked_total, overview.total_files]).toEqual([2, 2, 7])
      expect((await service.stop()).status).toBe(0)
    },
  )
})
