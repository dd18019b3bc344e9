import { isIP } from 'node:net'
import { shown } from '../errors/errors.js'
import { readSecretFile } from './secret-files.js'

/** Reads variables one by one and keeps every fault, so that an operator mends all of them in one go. */
export class EnvReader {
  readonly faults: string[] = []
  readonly #env: NodeJS.ProcessEnv
  readonly #faulty = new Set<string>()
  readonly #fromFiles = new Map<string, string>()

  /** `secrets` are the variables whose value may stand in a file that `<name>_FILE` names. */
  constructor(env: NodeJS.ProcessEnv, secrets: readonly string[]) {
    this.#env = env
    for (const name of secrets) this.#takeFile(name)
  }

  /** Undefined where unset or blank: compose files pass empty strings for what is not set. */
  text(name: string): string | undefined {
    const value = (this.#fromFiles.get(name) ?? this.#env[name])?.trim()
    return value ? value : undefined
  }

  #takeFile(name: string): void {
    const variable = `${name}_FILE`
    const path = this.text(variable)
    if (path === undefined) return
    if (this.text(name) !== undefined) this.fault(variable, path, `unset if ${name} is set`)
    else
      try {
        this.#fromFiles.set(name, readSecretFile(path))
        return
      } catch (error) {
        this.fault(variable, path, `the path of a readable file (${(error as Error).message})`)
      }
    // What stands in for the value was wrong: that the value is missing need not be said as well.
    this.#faulty.add(name)
  }

  hasFault(name: string): boolean {
    return this.#faulty.has(name)
  }

  /** Notes `<name> is '<value>'; it must be <right>.` Of a secret's value only the length is shown. */
  fault(name: string, value: string | undefined, right: string, secret?: 'secret'): undefined {
    const told = value === undefined ? 'not set' : secret ? `a value of ${value.length} characters` : `'${shown(value)}'`
    this.faults.push(`${name} is ${told}. It must be ${right}.`)
    this.#faulty.add(name)
    return undefined
  }

  integer(name: string, limits: { from: number; to: number; fallback: number }): number {
    return this.optionalInteger(name, limits) ?? limits.fallback
  }

  optionalInteger(name: string, { from, to }: { from: number; to: number }): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= from && number <= to) return number
    return this.fault(name, value, `a whole number from ${from} to ${to}`)
  }

  matching(name: string, pattern: RegExp, right: string, secret?: 'secret'): string | undefined {
    const value = this.text(name)
    if (value === undefined || pattern.test(value)) return value
    return this.fault(name, value, right, secret)
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    return choices.find((choice) => choice === value) ?? this.fault(name, value, `one of ${choices.join(', ')}`)
  }

  url(name: string, protocols: string[], { example, secret }: { example: string; secret?: boolean }): string | undefined {
    const value = this.text(name)
    if (value === undefined || protocols.includes(protocolOf(value))) return value
    return this.fault(name, value, `a URL such as ${example}`, secret ? 'secret' : undefined)
  }

  /** An http URL without query, fragment, credentials or final slash. */
  baseUrl(name: string): string | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url && /^https?:$/.test(url.protocol) && !/[?#]/.test(value) && !url.username && !url.password)
      return url.href.replace(/\/+$/, '')
    return this.fault(name, value, 'an http or https URL without query and fragment, such as https://files.example.com')
  }

  list(name: string): string[] {
    return (this.text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  }

  /** What express's 'trust proxy' takes, but for `true`, which would believe whatever a client claims. */
  proxies(name: string): false | number | string[] {
    const value = this.text(name)
    if (value === undefined) return false
    if (/^\d{1,2}$/.test(value)) return Number(value) || false
    const items = this.list(name)
    if (items.length > 0 && items.every(isProxy)) return items
    this.fault(
      name,
      value,
      'the number of proxies, or their addresses or networks (10.0.0.0/8, ::1, loopback, linklocal, uniquelocal), separated by commas',
    )
    return false
  }

  origins(name: string): string[] {
    const items = this.list(name)
    const isOrigin = (item: string) => URL.canParse(item) && new URL(item).origin === item && /^https?:/.test(item)
    if (items.every(isOrigin) || (items.length === 1 && items[0] === '*')) return items
    this.fault(name, items.join(','), 'origins such as https://app.example.com, separated by commas, or *')
    return []
  }
}

const protocolOf = (value: string) => (URL.canParse(value) ? new URL(value).protocol : '')

function isProxy(item: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(item)) return true
  const [address = '', bits, ...rest] = item.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
