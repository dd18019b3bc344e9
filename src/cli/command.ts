import type { ParseArgsConfig } from 'node:util'
import type { Services } from '../features/services.js'
import type { Config } from '../platform/config/config.js'
import type { Database } from '../platform/db/client.js'

export interface Means {
  config: Config
  database: Database
  services: Services
}

export type Given = Record<string, string | boolean | undefined>

export interface Command {
  /** What follows `npm run --silent admin --`. */
  usage: string
  options: NonNullable<ParseArgsConfig['options']>
  required?: readonly string[]
  /** `fault` is a sentence for what was found wrong: it is printed beside the result, and the exit status is 1. */
  run(means: Means, given: Given): Promise<{ result: Record<string, unknown>; fault?: string }>
}

/** The command was not asked for as it wants to be; the message says how. */
export class UsageFault extends Error {
  override readonly name = 'UsageFault'
}
