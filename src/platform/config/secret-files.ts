import { readFileSync, statSync } from 'node:fs'

/** Variables that contain secrets. `<NAME>_FILE` may name a file with the value, such as a mounted Kubernetes secret. */
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
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'S3_SESSION_TOKEN',
  'REDIS_URL',
] as const

// Limits the memory use if the path is wrong, for example if it is a disk image.
const maxSecretBytes = 65_536

/** Reads a secret from a file and removes the final newline. */
export function readSecretFile(path: string): string {
  const file = statFile(path)
  if (!file.isFile()) throw new Error('the file is not a regular file')
  if (file.size > maxSecretBytes) throw new Error(`the file has more than ${maxSecretBytes} bytes`)
  const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  if (text.trim() === '') throw new Error('the file is empty')
  return text
}

function statFile(path: string) {
  try {
    return statSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(code === 'ENOENT' ? 'the file does not exist' : String(code))
  }
}
