// Compiles only if the types of @assay/client (scripts/openapi-types.mjs) equal those of openapi-typescript.
import type { components as Expected, operations as ExpectedOperations } from './generated/openapi-typescript/expected'
import type { components as Own, operations as OwnOperations } from './generated/own'

/** Replaces named types with their members because names differ between the two sides. */
type Expand<T> = T extends (infer Item)[] ? Expand<Item>[] : T extends object ? { [Key in keyof T]: Expand<T[Key]> } : T
type Equal<A, B> = (<T>() => T extends Expand<A> ? 1 : 2) extends <T>() => T extends Expand<B> ? 1 : 2 ? true : false
/** Keys whose types differ or that exist on only one side. */
type Differences<A, B> = {
  [Key in keyof A | keyof B]: Key extends keyof A & keyof B ? (Equal<A[Key], B[Key]> extends true ? never : Key) : Key
}[keyof A | keyof B]
type Queries<Operations> = {
  [Id in keyof Operations]: Operations[Id] extends { parameters: infer P } ? Pick<P, 'query' & keyof P> : never
}
type None<Keys extends never> = Keys

export type Schemas = None<Differences<Own['schemas'], Expected['schemas']>>
export type Parameters = None<Differences<Queries<OwnOperations>, Queries<ExpectedOperations>>>
