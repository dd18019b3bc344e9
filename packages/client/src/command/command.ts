import type { AssayClient } from '../client.js'
import { type Output, UsageError } from './output.js'

export interface CommandInvocation {
  positionals: string[]
  options: Record<string, string | undefined>
  output: Output
  env: Record<string, string | undefined>
  client(): Promise<AssayClient>
  /** All commands. `assay completion` generates its scripts from them. */
  commands: Record<string, Command>
}

interface Option {
  /** Placeholder for the value in the help text, such as `KEY`. */
  value: string
  description: string
}

/** Definition of a command. `run` resolves to false if a file was rejected or a receipt check failed. */
export interface Command {
  usage: string
  description: string
  options: Record<string, Option>
  /** Subcommands, such as `create` in `assay keys create`. */
  actions?: readonly string[]
  argumentCount: readonly [number, number]
  examples: readonly string[]
  run(invocation: CommandInvocation): Promise<boolean>
}

export const succeeded = true

export const limitOption = { limit: { value: 'N', description: 'Maximum number of rows. Default: all.' } }

export async function printList<T extends object>(
  invocation: CommandInvocation,
  items: AsyncIterable<T>,
  columns: (item: T) => unknown[],
): Promise<boolean> {
  let remaining = parsePositiveInteger(invocation, 'limit') ?? Number.POSITIVE_INFINITY
  for await (const item of items) {
    invocation.output.row(item, ...columns(item))
    if (--remaining <= 0) break
  }
  return succeeded
}

export function requireContext({ options }: CommandInvocation): string {
  if (!options.context) throw new UsageError('Missing context. Set --context KEY. Run `assay contexts` to list the contexts.')
  return options.context
}

export function parseMetadata({ options }: CommandInvocation): Record<string, unknown> | undefined {
  const text = options.metadata
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw new UsageError(`--metadata is '${text}'. It must be a JSON object, such as '{"order": 4711}'.`)
}

export function parsePositiveInteger({ options }: CommandInvocation, name: string): number | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} is '${text}'. It must be a whole number of at least 1.`)
  return Number(text)
}

export function parseChoice<T extends string>(
  { options }: CommandInvocation,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = options[name]
  if (value === undefined || choices.includes(value as T)) return value as T | undefined
  throw new UsageError(`--${name} is '${value}'. It must be one of: ${choices.join(', ')}.`)
}

export const parseList = ({ options }: CommandInvocation, name: string): string[] | undefined =>
  options[name]?.split(',').map((item) => item.trim())

/** Creates the error for an unknown subcommand, such as `assay keys frob`. */
export const createInvalidArgumentsError = ({ positionals }: CommandInvocation, { usage }: Command): UsageError =>
  new UsageError(`Invalid arguments: ${positionals.join(' ')}. Usage: assay ${usage}`)
