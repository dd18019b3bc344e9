import { createRequire } from 'node:module'

let common: Set<string> | undefined

/**
 * Returns true for one of the 18,000 most common passwords of at least eight characters. The list is loaded on first use (90 ms,
 * 2 MB), because a service without dashboard users never needs it.
 */
export function isCommonPassword(password: string): boolean {
  common ??= loadPasswordList()
  return common.has(password.toLowerCase())
}

function loadPasswordList(): Set<string> {
  const { dictionary } = createRequire(import.meta.url)('@zxcvbn-ts/language-common') as {
    dictionary: { 'passwords-common': string[] }
  }
  return new Set(dictionary['passwords-common'].filter((each) => each.length >= 8))
}
