import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

interface Entry {
  optionalDependencies?: Record<string, string>
}

const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Entry>
}

// If a registry lacks packages for other platforms, npm install omits them, and npm ci rejects the lock file.
test('package-lock.json lists every optional package', () => {
  const named = new Set(
    Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  )
  const expected = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}))
  expect(expected.length).toBeGreaterThan(0)
  expect(expected.filter((name) => !named.has(name))).toEqual([])
})
