import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, jest, test } from '@jest/globals'
import * as known from '../../src/platform/errors/block-reasons.js'

const script = fileURLToPath(new URL('../../scripts/block-reason-migration.mjs', import.meta.url))
const generateMigration = (reason: string) => execFileSync(process.execPath, [script, reason], { encoding: 'utf8' }).trim()
const blockReasons = [...known.blockReasons, 'too_odd']
const findRow = (reason: string) =>
  reason === 'too_odd' ? { status: 422, meaning: 'It is too odd.' } : known.blockReasonRows[reason as known.BlockReason]

beforeAll(() => {
  jest.unstable_mockModule('../../src/platform/errors/block-reasons.js', () => ({
    ...known,
    blockReasons,
    blockReasonRows: Object.fromEntries(blockReasons.map((reason) => [reason, findRow(reason)])),
  }))
})

describe('adding a block reason', () => {
  test('maps each block reason to an error code and an HTTP status', async () => {
    const { httpStatus } = await import('../../src/platform/errors/errors.js')
    expect(httpStatus).toHaveProperty('too_odd', 422)
  })

  test('lists each block reason in the schema, the REST statistics and the upload error codes', async () => {
    const { buildSchema, formatSchema: schemaText } = await import('../../src/api/graphql/schema.js')
    const { createResolvers } = await import('../../src/features/resolvers.js')
    const { loadOperations } = await import('../../src/api/rest/operations.js')
    const { getErrorCodes: codesOf } = await import('../../scripts/openapi/errors.js')
    const schema = buildSchema(createResolvers({} as Parameters<typeof createResolvers>[0]))
    expect(schemaText(schema)).toMatch(/enum BlockReason \{.*"""It is too odd\."""\n {2}too_odd/s)
    expect(schemaText(schema)).toMatch(/type BlockedByReason \{.*tooOdd: Long!/s)
    expect(JSON.stringify(loadOperations(schema).get('GetStats')?.document)).toContain('"tooOdd"')
    expect(
      codesOf({
        operation: 'UploadFile',
        body: 'multipart',
        idempotent: true,
        hasValidatedParameters: true,
        hasResourceId: false,
      }),
    ).toContain('too_odd')
  })

  test('puts a block reason that has no check last in the check order', async () => {
    const { orderedChecks } = await import('../../src/inspection/checks.js')
    expect(orderedChecks.at(-1)).toEqual(['too_odd', undefined])
  })
})

test('the migration for a new block reason covers every table with block reasons', () => {
  expect(generateMigration('too_odd').split('\n')).toEqual([
    'ALTER TABLE "usage_counters" ADD COLUMN "too_odd" BIGINT NOT NULL DEFAULT 0;',
    'ALTER TABLE "usage_deltas" ADD COLUMN "too_odd" BIGINT;',
  ])
  for (const reason of known.blockReasons) expect(generateMigration(reason)).toBe(`-- ${reason} already has its columns`)
})
