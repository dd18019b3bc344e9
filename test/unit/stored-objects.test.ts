import { expect, test } from '@jest/globals'
import { getFolderInStore } from '../../src/platform/storage/stored-objects.js'

test.each([
  ['s3://bucket/ten_1/import', 's3://bucket?region=eu-central-1', 'ten_1/import/'],
  ['s3://bucket/files/ten_1/import/', 's3://bucket/files/?endpoint=http://localhost', 'ten_1/import/'],
  ['gs://bucket/a%20b', 'gs://bucket', 'a%20b/'],
  ['file:///srv/blobs/ten_1/a%20b', 'file:///srv/blobs', 'ten_1/a b/'],
  ['file:///srv/blobs/ten_1/../../etc', 'file:///srv/blobs', undefined],
  ['s3://bucket2/ten_1', 's3://bucket', undefined],
  ['gs://bucket/ten_1', 's3://bucket', undefined],
  ['s3://bucket/filesystem/ten_1', 's3://bucket/files', undefined],
  ['/srv/blobs/ten_1', 'file:///srv/blobs', undefined],
])('maps the folder %s in the store %s to the path %s', (url, storageUrl, folder) => {
  expect(getFolderInStore(url, storageUrl)).toBe(folder)
})
