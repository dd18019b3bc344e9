import 'reflect-metadata'
import { expect, test } from '@jest/globals'
import { isValidTemplate } from '../../src/features/contexts/context.types.js'
import { getBlobFolder } from '../../src/features/files/upload.service.js'

test.each([
  '{context_key}/{year}/{month}',
  'plain',
  'a/b-c_d.e/{year}',
  'Größe/{month}',
  '{year}{month}{context_key}',
  'x'.repeat(200),
])('accepts the storage path template %s', (template) => {
  expect(isValidTemplate(template)).toBe(true)
})

test.each([
  '',
  '/a',
  'a/',
  'a//b',
  '..',
  'a/../b',
  './a',
  'a/.',
  '{tenant_id}',
  '{}',
  '{year',
  'year}',
  '{{year}}',
  'a\nb',
  'a\0b',
  'a\\b',
  '\u202ea'.replace('\u202e', '\u2028'),
  'half\ud800',
  'a?b',
  'a#b',
  'a*b',
  ' a',
  'x'.repeat(256),
  `{context_key}${'x'.repeat(150)}`,
])('rejects the storage path template %j', (template) => {
  expect(isValidTemplate(template)).toBe(false)
})

test('builds a storage path from the tenant, the template and the UTC date', () => {
  const createdAt = new Date('2026-03-01T00:30:00+02:00')
  const getFolder = (storagePathTemplate: string) =>
    getBlobFolder({ tenantId: 'ten_1', contextKey: 'notes', storagePathTemplate }, createdAt)
  expect(getFolder('{context_key}/{year}/{month}')).toBe('ten_1/notes/2026/02')
  expect(getFolder('x')).toBe('ten_1/x')
  expect(getFolder('{year}/{year}')).toBe('ten_1/2026/2026')
})
