import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { toPrintableText } from '../errors/errors.js'

/** Reads environment variables and collects all errors, so that the operator can fix them together. */
export class EnvReader {
  readonly errors: string[] = []
  readonly #env: NodeJS.ProcessEnv
  readonly #invalid = new Set<string>()
  readonly #fromFiles = new Map<string, string>()

  /** `secrets` lists the variables that can also be set with a file, whose path is in `<name>_FILE`. */
  constructor(env: NodeJS.ProcessEnv, secrets: readonly string[]) {
    this.#env = env
    for (const name of secrets) this.#readFile(name)
  }

  /** Returns undefined if the variable is unset or blank, because Compose files pass empty strings for unset variables. */
  readText(name: string): string | undefined {
    const value = (this.#fromFiles.get(name) ?? this.#env[name])?.trim()
    return value ? value : undefined
  }

  #readFile(name: string): void {
    const variable = `${name}_FILE`
    const path = this.readText(variable)
    if (path === undefined) return
    if (this.readText(name) !== undefined) this.addError(variable, path, `unset if ${name} is set`)
    else
      try {
        this.#fromFiles.set(name, readSecretFile(path))
        return
      } catch (error) {
        this.addError(variable, path, `the path of a readable file (${(error as Error).message})`)
      }
    // Report only the error about the file, because an additional error about the missing value would be confusing.
    this.#invalid.add(name)
  }

  hasError(name: string): boolean {
    return this.#invalid.has(name)
  }

  /** Adds the error `<name> is '<value>'. It must be <expected>.` For a secret, the error contains only the value's length. */
  addError(name: string, value: string | undefined, expected: string): undefined {
    this.errors.push(`${name} is ${describeValue(name, value)}. It must be ${expected}.`)
    this.#invalid.add(name)
    return undefined
  }

  readInteger(name: string, limits: { min: number; max: number; fallback: number }): number {
    return this.readOptionalInteger(name, limits) ?? limits.fallback
  }

  readOptionalInteger(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const value = this.readText(name)
    if (value === undefined) return undefined
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    return this.addError(name, value, `a whole number from ${min} to ${max}`)
  }

  readPattern(name: string, pattern: RegExp, expected: string): string | undefined {
    const value = this.readText(name)
    if (value === undefined || pattern.test(value)) return value
    return this.addError(name, value, expected)
  }

  readChoice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.readText(name)
    if (value === undefined) return undefined
    return choices.find((choice) => choice === value) ?? this.addError(name, value, `one of ${choices.join(', ')}`)
  }

  readFlag(name: string): boolean {
    return this.readChoice(name, ['true', 'false']) === 'true'
  }

  readUrl(name: string, protocols: string[], example: string): string | undefined {
    const value = this.readText(name)
    if (value === undefined || protocols.includes(getProtocol(value))) return value
    return this.addError(name, value, `a URL such as ${example}`)
  }

  /** Reads an HTTP URL, which must not contain a query, a fragment or credentials. Removes trailing slashes. */
  readBaseUrl(name: string): string | undefined {
    const value = this.readText(name)
    if (value === undefined) return undefined
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username && !url.password)
      return url.href.replace(/\/+$/, '')
    return this.addError(name, value, 'an http or https URL without a query or fragment, such as https://files.example.com')
  }

  readList(name: string): string[] {
    return (this.readText(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  }

  /** Reads a value for Express's 'trust proxy' setting. Rejects `true`, which would trust any address that a client claims. */
  readProxies(name: string): false | number | string[] {
    const value = this.readText(name)
    if (value === undefined) return false
    if (/^\d{1,2}$/.test(value)) return Number(value) || false
    const items = this.readList(name)
    if (items.length > 0 && items.every(isProxyAddress)) return items
    this.addError(
      name,
      value,
      'the number of proxies, or their addresses or networks (10.0.0.0/8, ::1, loopback, linklocal, uniquelocal), separated by commas',
    )
    return false
  }

  readOrigins(name: string): string[] {
    const items = this.readList(name)
    const isOrigin = (item: string) => URL.canParse(item) && new URL(item).origin === item && /^https?:/.test(item)
    if (items.every(isOrigin) || (items.length === 1 && items[0] === '*')) return items
    this.addError(name, items.join(','), 'origins such as https://app.example.com, separated by commas, or *')
    return []
  }
}

function describeValue(name: string, value: string | undefined): string {
  if (value === undefined) return 'not set'
  return isSecret(name) ? `a value of ${value.length} characters` : `'${toPrintableText(value)}'`
}

const isSecret = (name: string) => secretVariables.some((secret) => secret === name)

const getProtocol = (value: string) => (URL.canParse(value) ? new URL(value).protocol : '')

function isProxyAddress(item: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(item)) return true
  const [address = '', bits, ...rest] = item.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** Variables that contain secrets. `<NAME>_FILE` may name a file that contains the value, such as a mounted Kubernetes secret. */
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

// Maximum size of a secret file. Limits the memory use if the path is wrong and names a large file, such as a disk image.
const maxSecretBytes = 65_536

/** Reads a secret from a file and removes the final newline. */
function readSecretFile(path: string): string {
  const file = statFile(path)
  if (!file.isFile()) throw new Error('the file is not a regular file')
  if (file.size > maxSecretBytes) throw new Error(`the file is larger than ${maxSecretBytes} bytes`)
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
