import { beforeEach, expect, test } from '@jest/globals'
import { SecurityTrail } from '../../src/access/security-trail.js'
import type { AuditRow, Entry } from '../../src/ledger/entry.js'

let stored: AuditRow[]
let counted: string[]
let trail: SecurityTrail
beforeEach(() => {
  stored = []
  counted = []
  trail = new SecurityTrail(
    async ({ audit }: Entry) => void stored.push(...audit!),
    (reason) => counted.push(reason),
  )
})

const origin = { ip: '192.0.2.1', userAgent: 'x' }
const note = (id: string, tenantId = 'ten_1', reason: 'sign_in_failed' | 'scope_refused' = 'sign_in_failed') =>
  trail.recordEvent({ reason, message: 'No.', tenantId, subject: { id, name: 'A' }, origin })

test('combines a thousand identical security entries into one entry with a count', () => {
  for (let time = 0; time < 1000; time++) note('usr_1')
  expect(stored).toHaveLength(1)
  expect(stored[0]).toMatchObject({
    auditType: 'security',
    entityId: 'usr_1',
    details: { reason: 'sign_in_failed', message: 'No.', left_out: 0 },
    actor: { kind: 'system', ip: '192.0.2.1' },
  })
  expect(counted).toHaveLength(1000)
})

test('stores separate security entries for different reasons, users and tenants', () => {
  for (let time = 0; time < 3; time++) {
    note('usr_1')
    note('usr_1', 'ten_1', 'scope_refused')
    note('usr_2')
    note('usr_1', 'ten_2')
  }
  expect(stored).toHaveLength(4)
})

test('limits a tenant to sixty security entries an hour without affecting other tenants', () => {
  for (let user = 0; user < 5000; user++) note(`usr_${user}`)
  expect(stored).toHaveLength(60)
  note('usr_1', 'ten_2')
  expect(stored).toHaveLength(61)
})
