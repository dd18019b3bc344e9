import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { findFreePort, Service } from '../support/service.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay-tour-'))
let service: Service
let port: string

beforeAll(async () => {
  port = await findFreePort()
  service = await Service.start({ PORT: port, HOST: '0.0.0.0', DATA_DIR: join(scratch, '.data'), SCANNER_URL: 'yara:' })
})
afterAll(async () => {
  await service?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

/** A command in the tour with its documented output. */
interface Step {
  typed: string
  shown: string
}

function readTour(): { banner: string; steps: Step[] } {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll('8080', port)
  const section = readme.slice(readme.indexOf('\n## Five minutes\n'))
  const blocks = [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({ language, text: text! }))
  const steps = blocks.flatMap(({ language, text }, place) => {
    const next = blocks[place + 1]
    return language === 'sh' ? [{ typed: text, shown: next && next.language !== 'sh' ? next.text : '' }] : []
  })
  return { banner: blocks[0]!.text, steps }
}

/** Converts documented output to a pattern in which `…` matches any text. */
const toPattern = (text: string) => new RegExp(`^${text.trim().split('…').map(escapePattern).join('.*')}$`, 's')
const escapePattern = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

test('the README tour prints the documented output', async () => {
  const { banner, steps } = readTour()
  expect(service.stdout.slice(service.stdout.indexOf('Assay listens'))).toMatch(
    new RegExp(toPattern(banner).source.replace(/\$$/, ''), 's'),
  )

  const [, key] = /API key {3}(\S+)/.exec(service.stdout)!
  const [, password] = /Sign-in {3}\S+ {3}(\S+)/.exec(service.stdout)!
  const secrets = steps.findIndex(({ typed }) => typed.includes('KEY=assay_…'))
  steps[secrets] = { typed: `KEY='${key}'\nPASSWORD='${password}'\n`, shown: '' }

  const end = '--- the next step ---'
  const script = steps.map(({ typed }) => `${typed}\nprintf '%s\\n' '${end}'`).join('\n')
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: scratch })
  const printed = stdout.replaceAll('\r', '').split(`${end}\n`)
  expect(steps.length).toBeGreaterThan(8)
  for (const [place, { typed, shown }] of steps.entries())
    expect({ typed, printed: printed[place]!.trim() }).toEqual({
      typed,
      printed: shown === '' ? '' : expect.stringMatching(toPattern(shown)),
    })
})
