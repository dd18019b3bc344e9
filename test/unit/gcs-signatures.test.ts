import { describe, expect, test } from '@jest/globals'
import { computeCrc32c } from '../support/bucket/crc32c.js'
import { createCanonicalRequest, createStringToSign } from '../support/bucket/signatures.js'

// Google's conformance vectors for V4 signed URLs (googleapis/conformance-tests, storage/v1, Apache-2.0), limited to the features
// in use. All share bucket, account, time and lifetime.
const credential = 'test-iam-credentials%40dummy-project-id.iam.gserviceaccount.com%2F20190201%2Fauto%2Fstorage%2Fgoog4_request'
const common = `X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=${credential}&X-Goog-Date=20190201T090000Z&X-Goog-Expires=10`
const object = '/test-bucket/test-object'

const vectors: {
  name: string
  path?: string
  query: string
  headers?: Record<string, string>
  canonical: string
  hash: string
}[] = [
  {
    name: 'Simple GET',
    query: `${common}&X-Goog-SignedHeaders=host`,
    canonical: `GET\n${object}\n${common}&X-Goog-SignedHeaders=host\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD`,
    hash: '00e2fb794ea93d7adb703edaebdd509821fcc7d4f1a79ac5c8d2b394df109320',
  },
  {
    name: 'Forward Slashes should not be stripped',
    path: '/test-bucket//path/with/slashes/under_score/amper%26sand/file.ext',
    query: `${common}&X-Goog-SignedHeaders=host`,
    canonical: `GET\n/test-bucket//path/with/slashes/under_score/amper%26sand/file.ext\n${common}&X-Goog-SignedHeaders=host\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD`,
    hash: '63c601ecd6ccfec84f1113fc906609cbdf7651395f4300cecd96ddd2c35164f8',
  },
  {
    name: 'Header value with multiple inline values',
    query: `${common}&X-Goog-SignedHeaders=host%3Bmultiple`,
    headers: { multiple: ' xyz ,  abc, def  , xyz   ' },
    canonical: `GET\n${object}\n${common}&X-Goog-SignedHeaders=host%3Bmultiple\nhost:storage.googleapis.com\nmultiple:xyz , abc, def , xyz\n\nhost;multiple\nUNSIGNED-PAYLOAD`,
    hash: '4df8e486146c31f1c8cd4e4c730554cde4326791ba48ec11fa969a3de064cd7f',
  },
  {
    name: 'Query Parameter Encoding',
    query: `${common}&X-Goog-SignedHeaders=host&aA0%C3%A9%2F%3D%25-_.~=~%20._-%25%3D%2F%C3%A90Aa`,
    canonical: `GET\n${object}\n${common}&X-Goog-SignedHeaders=host&aA0%C3%A9%2F%3D%25-_.~=~%20._-%25%3D%2F%C3%A90Aa\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD`,
    hash: '448f96c23dafa8210900554e138b2b5fd55bc53ef53b8637cecc3edec45a8fcf',
  },
  {
    name: 'Query Parameter Ordering',
    query: `prefix=%2Ffoo&${common}&X-Goog-SignedHeaders=host&X-Goog-Meta-Foo=bar`,
    canonical: `GET\n${object}\n${common}&X-Goog-Meta-Foo=bar&X-Goog-SignedHeaders=host&prefix=%2Ffoo\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD`,
    hash: '4dafe74ad142f32b7c25fc4e6b38fd3b8a6339d7f112247573fb0066f637db6c',
  },
]

describe("the emulator compared with Google's test vectors", () => {
  test.each(vectors)(
    'computes the same canonical request as the Google test vector $name',
    ({ path = object, query, headers = {}, canonical, hash }) => {
      const request = {
        method: 'GET',
        target: `${path}?${query}&X-Goog-Signature=00`,
        headers: { host: 'storage.googleapis.com', ...headers },
      }
      expect(createCanonicalRequest(request)).toBe(canonical)
      expect(createStringToSign(request)).toBe(`GOOG4-RSA-SHA256\n20190201T090000Z\n20190201/auto/storage/goog4_request\n${hash}`)
    },
  )

  test('computes the CRC32C of the test vectors in RFC 3720', () => {
    expect(computeCrc32c(Buffer.alloc(32))).toBe('ipE2qg==')
    expect(computeCrc32c(Buffer.alloc(32, 0xff))).toBe('YqirQw==')
    expect(computeCrc32c(Buffer.from('123456789'))).toBe('4waSgw==')
  })
})
