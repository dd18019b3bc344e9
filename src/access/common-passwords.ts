import { createRequire } from 'node:module'

let common: Set<string> | undefined

/**
 * True for one of the 18,000 most frequent passwords that are long enough to be chosen here. Read when first asked: it costs 90 ms
 * and 2 MB, which a service without dashboard users spares.
 */
export function isCommonPassword(password: string): boolean {
  common ??= readList()
  return common.has(password.toLowerCase())
}

function readList(): Set<string> {
  const { dictionary } = createRequire(import.meta.url)('@zxcvbn-ts/language-common') as {
    dictionary: { 'passwords-common': string[] }
  }
  return new Set(dictionary['passwords-common'].filter((each) => each.length >= 8))
}
