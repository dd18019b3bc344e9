import { describe, expect, test } from '@jest/globals'
import {
  canAccessContext,
  createSystemActor,
  hasScope,
  requireScope,
  sanitizeUserAgent,
  scopes,
} from '../../src/platform/actor.js'

describe('scopes and actors', () => {
  test.each(scopes)('the admin scope implies %s', (scope) => {
    expect(hasScope({ scopes: ['admin'] }, scope)).toBe(true)
  })

  test('only the admin scope implies other scopes', () => {
    for (const held of scopes.filter((scope) => scope !== 'admin')) {
      expect(scopes.filter((requested) => hasScope({ scopes: [held] }, requested))).toEqual([held])
    }
  })

  test('includes the name of the missing scope in the error', () => {
    expect(() => requireScope({ scopes: ['upload'] }, 'delete')).toThrow(
      expect.objectContaining({ code: 'forbidden', message: expect.stringContaining("'delete'") }),
    )
  })

  test('limits a restricted key to its contexts', () => {
    expect(canAccessContext({ contexts: ['ctx_a'] }, 'ctx_b')).toBe(false)
    expect(canAccessContext({ contexts: ['ctx_a'] }, 'ctx_a')).toBe(true)
    expect(canAccessContext({ contexts: [] }, 'ctx_a')).toBe(false)
    expect(canAccessContext({ contexts: null }, 'ctx_a')).toBe(true)
  })

  test("attributes the service's own actions to an actor named `system`", () => {
    expect(createSystemActor('ten_1')).toMatchObject({ tenantId: 'ten_1', kind: 'system', id: 'system', email: null })
  })
})

describe('user agent sanitization', () => {
  test.each([
    ['missing', undefined, ''],
    ['unchanged', 'curl/8.0 (x)', 'curl/8.0 (x)'],
    ['without control characters', 'a\u0000b\r\nInjected: yes\u001b[31m\u007f', 'abInjected: yes[31m'],
    ['UTF-8 that Node.js decoded as Latin-1', Buffer.from('Überträger/1 ☂').toString('latin1'), 'Überträger/1 ☂'],
    ['Latin-1 that is not UTF-8', 'M\u00fcller', 'Müller'],
    ['without C1 controls and bidirectional marks', 'a\u0085b\u202ec', 'abc'],
  ])('sanitizes a user agent: %s', (_, header, clean) => {
    expect(sanitizeUserAgent(header)).toBe(clean)
  })

  test('truncates a user agent to 512 bytes without splitting characters', () => {
    expect(sanitizeUserAgent('x'.repeat(600))).toBe('x'.repeat(512))
    expect(sanitizeUserAgent(`x${'é'.repeat(400)}`)).toBe(`x${'é'.repeat(255)}`)
    expect(sanitizeUserAgent(Buffer.from(`${'☂'.repeat(300)}`).toString('latin1'))).toBe('☂'.repeat(170))
    expect(sanitizeUserAgent(Buffer.from(`ab${'😀'.repeat(300)}`).toString('latin1'))).toBe(`ab${'😀'.repeat(127)}`)
  })
})
