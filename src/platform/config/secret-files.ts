import { readFileSync, statSync } from 'node:fs'

/** Variables that hold secrets: `NAME_FILE` may name a file with the value instead, as Docker and Kubernetes mount them. */
export const secretVariables = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_READ_URL',
  'BOOTSTRAP_API_KEY',
  'BOOTSTRAP_ADMIN_PASSWORD',
  'MASTER_KEY',
  'MASTER_KEY_PREVIOUS',
  'METRICS_TOKEN',
  'STORAGE_HMAC_SECRET',
  'REDIS_URL',
] as const

// A path typed wrong must not load a disk image into memory.
const longestSecret = 65_536

/** The file's text without the newline at its end. Throws the reason why it cannot be had. */
export function readSecretFile(path: string): string {
  const file = statOf(path)
  if (!file.isFile()) throw new Error('it is not a file')
  if (file.size > longestSecret) throw new Error(`it has more than ${longestSecret} bytes`)
  const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  if (text.trim() === '') throw new Error('it is empty')
  return text
}

function statOf(path: string) {
  try {
    return statSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(code === 'ENOENT' ? 'it does not exist' : String(code))
  }
}
