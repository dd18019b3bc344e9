import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

test('every test listed in docs/security.md exists, and every table row is complete', () => {
  const lines = read('docs/security.md').split('\n')
  const rows = lines.filter((line) => line.startsWith('| ') && !/^\| *(asks for)? *\|? *asks for/.test(line))
  expect(rows.length).toBeGreaterThan(60)
  for (const row of rows) {
    expect([row, row.split('|').at(-2)!.trim().length > 3]).toEqual([row, true])
    for (const [, path] of row.matchAll(/`((?:packages\/\w+\/)?test\/[\w/.-]+)`/g))
      expect([path, existsSync(new URL(path!, root))]).toEqual([path, true])
    for (const [, path, named] of row.matchAll(/`((?:packages\/\w+\/)?test\/[\w/.-]+)` › ([^;|]+?)(?=;| \||\. [A-Z]|\)|$)/g))
      expect([named, plain(read(path!)).includes(plain(named!))]).toEqual([named, true])
  }
})

const plain = (text: string) => text.replace(/\\/g, '').replace(/\s+/g, ' ')
