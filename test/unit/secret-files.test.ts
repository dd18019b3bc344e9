import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { ConfigError, readConfig, readDatabaseConfig } from '../../src/platform/config/config.js'
import { secretVariables } from '../../src/platform/config/config-reader.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const key = Buffer.alloc(32, 7).toString('base64')
let count = 0

function writeSecretFile(text: string): string {
  const path = join(folder, `secret-${++count}`)
  writeFileSync(path, text)
  return path
}

function faults(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
}

/** A valid value for each variable. */
const values: Record<(typeof secretVariables)[number], string> = {
  DATABASE_URL: 'postgresql://u:p@h/d',
  DATABASE_DIRECT_URL: 'postgresql://u:p@h/d',
  DATABASE_READ_URL: 'postgresql://u:p@h/d',
  BOOTSTRAP_API_KEY: 'chosen-by-the-operator-00000000000',
  BOOTSTRAP_ADMIN_PASSWORD: 'correct horse battery',
  MASTER_KEY: key,
  MASTER_KEY_PREVIOUS: key,
  METRICS_TOKEN: 'sixteen-characters',
  STORAGE_HMAC_SECRET: 'bGoa+V7g/yqDXvKRqq+JTFn4uQZbPiQJo4pf9RzJ',
  S3_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  S3_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  S3_SESSION_TOKEN: 'IQoJb3JpZ2luX2Vj',
  REDIS_URL: 'redis://h:6379',
}
const without = (name: string) => ({
  ...(name !== 'MASTER_KEY' && { MASTER_KEY: key }),
  ...(name === 'STORAGE_HMAC_SECRET' && { STORAGE_HMAC_ACCESS_ID: 'GOOGTS7C7FUP3AIRVJTE2BCD' }),
  ...(/^S3_(SECRET|SESSION)/.test(name) && { S3_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE' }),
  ...(/^S3_(ACCESS|SESSION)/.test(name) && { S3_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }),
  ...((name === 'DATABASE_DIRECT_URL' || name === 'DATABASE_READ_URL') && { DATABASE_URL: 'postgresql://u:p@pooler/d' }),
})

describe.each(secretVariables)('secret file for %s', (name) => {
  const variable = `${name}_FILE`

  test.each(['', '\n', '\r\n'])('reads the secret from the file named in the variable, and ignores a trailing %j', (end) => {
    const direct = readConfig({ ...without(name), [name]: values[name] })
    expect(readConfig({ ...without(name), [variable]: writeSecretFile(values[name] + end) })).toEqual(direct)
  })

  test('rejects a secret that is set both directly and in a file', () => {
    const path = writeSecretFile(values[name])
    expect(faults({ ...without(name), [name]: values[name], [variable]: path })).toEqual([
      `${variable} is '${path}'. It must be unset if ${name} is set.`,
    ])
  })

  test('includes only the path in the error for a missing secret file', () => {
    const path = join(folder, 'none')
    expect(faults({ ...without(name), [variable]: path })).toEqual([
      `${variable} is '${path}'. It must be the path of a readable file (the file does not exist).`,
    ])
  })
})

test('rejects a folder and an empty or overlong secret file', () => {
  const nested = join(folder, 'folder')
  mkdirSync(nested)
  const reasonOf = (path: string) => /\(([^)]*)\)\.$/.exec(faults({ METRICS_TOKEN_FILE: path }).join())?.[1]
  expect(reasonOf(writeSecretFile('\n'))).toBe('the file is empty')
  expect(reasonOf(writeSecretFile('x'.repeat(70_000)))).toBe('the file is larger than 65536 bytes')
  expect(reasonOf(nested)).toBe('the file is not a regular file')
})

test('does not reveal the content of a secret file in errors', () => {
  expect(faults({ MASTER_KEY_FILE: writeSecretFile('hushed!') }).join()).toMatch(/^MASTER_KEY is a value of 7 characters\. /)
})

test('requires a MASTER_KEY for an external database even if its URL is in a file', () => {
  expect(faults({ DATABASE_URL_FILE: writeSecretFile(values.DATABASE_URL) })).toEqual([
    expect.stringMatching(/^MASTER_KEY is not set/),
  ])
})

test('the migrate command requires only the database variable', () => {
  expect(readDatabaseConfig({ DATABASE_URL_FILE: writeSecretFile(values.DATABASE_URL) }).databaseUrl).toBe(values.DATABASE_URL)
})
