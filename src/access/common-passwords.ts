import { createRequire } from 'node:module'

let common: Set<string> | undefined

/**
 * True for one of the 18,000 most common passwords with at least eight characters. The list is loaded on first use. It takes 90 ms and 2
 * MB, which a service without dashboard users never needs.
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
