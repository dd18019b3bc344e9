import { expect, test } from '@jest/globals'
import { toCanonicalJson } from '../src/canonical-json.js'

test('serializes numbers, strings and literals as specified in RFC 8785, section 3.2.2', () => {
  const sample = JSON.parse(
    String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
  )
  expect(toCanonicalJson(sample)).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
})

test('sorts the keys of nested objects by UTF-16 code units (RFC 8785, section 3.2.3)', () => {
  const names = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6']
  const ordered = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33']
  const written = toCanonicalJson([Object.fromEntries(names.map((name) => [name, name]))])
  expect(Object.keys(JSON.parse(written)[0])).toEqual(['1', ...ordered.filter((name) => name !== '1')])
  expect(written).toBe(`[{${ordered.map((name) => `${JSON.stringify(name)}:${JSON.stringify(name)}`).join(',')}}]`)
})

test('omits undefined properties and replaces characters that PostgreSQL cannot store', () => {
  expect(toCanonicalJson({ b: undefined, a: 'x\0\ud800', at: new Date(0) })).toBe(
    '{"a":"x\ufffd\ufffd","at":"1970-01-01T00:00:00.000Z"}',
  )
})
