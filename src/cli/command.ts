import type { ParseArgsConfig } from 'node:util'
import { toPublicError } from '../access/public-error.js'
import type { Services } from '../features/services.js'
import { type Actor, createSystemActor } from '../platform/actor.js'
import { toSnakeCase } from '../platform/case-conversion.js'
import { type Config, ConfigError } from '../platform/config/config.js'
import type { Database } from '../platform/db/client.js'

export interface CommandContext {
  config: Config
  database: Database
  services: Services
  /** Prints a line to standard error. */
  print: (message: string) => void
}

export type OptionValues = Record<string, string | boolean | undefined>

export interface Command {
  /** Usage of the command, without the prefix `npm run --silent admin --`. */
  usage: string
  options: NonNullable<ParseArgsConfig['options']>
  /** Name of the positional argument, if the command accepts one. */
  argument?: string
  required?: readonly string[]
  /** Runs the command. If the result contains an `error`, the caller prints it after the result and exits with status 1. */
  run(context: CommandContext, values: OptionValues): Promise<{ result: Record<string, unknown>; error?: string }>
}

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Returns the actor on whose behalf the command changes the tenant. Throws 404 if the tenant does not exist. */
export async function findTenantActor({ services }: CommandContext, tenantId: OptionValues[string]): Promise<Actor> {
  const actor = createSystemActor(String(tenantId))
  await services.tenants.get(actor)
  return actor
}

/** Splits a comma-separated option value, such as `a,b` in `--scopes a,b`. */
export const splitList = (value: OptionValues[string]): string[] =>
  String(value)
    .split(',')
    .map((item) => item.trim())

/** Returns the listed fields of an object, with names in snake_case. */
export const pickFields = <Item extends object>(item: Item, fields: readonly (keyof Item & string)[]): Record<string, unknown> =>
  Object.fromEntries(fields.map((field) => [toSnakeCase(field), item[field]]))

/** Prints one sentence for an error that the operator can fix, and the stack of any other error. */
export function printError(error: unknown): void {
  const response = toPublicError(error)
  if (isOperatorError(error)) console.error(error.message)
  else console.error(response.code === 'internal_server_error' ? error : response.message)
}

// Errors that report operator mistakes are plain `Error` objects. Errors from Node.js and database drivers have a `code`.
const isOperatorError = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof UsageError ||
  (error instanceof Error && error.constructor === Error && !('code' in error))
