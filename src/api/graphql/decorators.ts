import * as graphql from 'type-graphql'

export {
  Args,
  ArgsType,
  type ClassType,
  Extensions,
  Float,
  ID,
  Int,
  InterfaceType,
  ObjectType,
  Resolver,
  Root,
  Subscription,
} from 'type-graphql'

// The following decorators are those of type-graphql, but with a required description.

type GetType = Parameters<typeof graphql.Field>[0] & {}
type FieldOptions = Parameters<typeof graphql.Field>[1]
type OperationOptions = Parameters<typeof graphql.Query>[1]

export const Field = (type: GetType, description: string, options?: FieldOptions) =>
  graphql.Field(type, { ...options, description })

export const NullableField = (type: GetType, description: string) => Field(type, description, { nullable: true })

export const FieldResolver = (type: GetType, description: string, options?: OperationOptions) =>
  graphql.FieldResolver(type, { ...options, description })

export const Query = (type: GetType, description: string, options?: OperationOptions) =>
  graphql.Query(type, { ...options, description })

export const Mutation = (type: GetType, description: string, options?: OperationOptions) =>
  graphql.Mutation(type, { ...options, description })

export const Arg = (name: string, type: GetType, description: string, options?: Parameters<typeof graphql.Arg>[2]) =>
  graphql.Arg(name, type, { ...options, description })

export const InputType = (description: string) => graphql.InputType({ description })

interface OutputOptions {
  name?: string
  implements?: abstract new () => object
}

/** Declares an object type. No middleware runs for its fields, except for those with `simple: false`. */
export function OutputType(description: string, { name, ...interfaces }: OutputOptions = {}): ClassDecorator {
  const options = { ...interfaces, description, simpleResolvers: true }
  return name ? graphql.ObjectType(name, options) : graphql.ObjectType(options)
}
