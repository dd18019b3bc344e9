import { expect, test } from '@jest/globals'
import { RouteTable } from '../../src/api/rest/router.js'
import { type Route, routes } from '../../src/api/rest/routes.js'

const table = new RouteTable(routes)
const found = (path: string, method: Route['method'] = 'GET') => {
  const match = table.find(path)
  return match && [match.routes.get(method)?.operation, match.parameters]
}

test('matches each route path to its own route and parameters', () => {
  for (const { method, path, operation } of routes) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const filled = path.replace(/\{(\w+)\}/g, 'some-$1')
    expect(found(filled, method)).toEqual([operation, Object.fromEntries(names.map((name) => [name, `some-${name}`]))])
  }
})

test('prefers a literal path segment to a parameter', () => {
  expect(found('/files/upload', 'POST')).toEqual(['UploadFile', {}])
  expect(found('/files/a%2Fb%20c')).toEqual(['CreateDownloadUrl', { file_id: 'a/b c' }])
  expect(found('/files/uploads')).toEqual(['CreateDownloadUrl', { file_id: 'uploads' }])
})

test.each([
  '',
  '/',
  '/none',
  '/files//metadata',
  '/files/x/none',
  '/files/x/metadata/y',
  '/files/%',
  '/files/%ff',
  'files',
  '/Files',
  '/files/',
  '//files',
])('matches the path %j to no route', (path) => {
  expect(found(path)).toBeUndefined()
})
