import type { GraphQLScalarType } from 'graphql'
import { ArgsType, type ClassType, Field, ID, InputType, ObjectType } from 'type-graphql'
import { AsNodeId, Node } from './node.js'
import { UpdateField } from './rules.js'

/** `String`, `Boolean`, `Date`, a scalar, an enum, a class, or a list such as `[String]`. */
type FieldType = object | [object]

type ValueOf<Type> = Type extends [infer Item]
  ? ValueOf<Item>[]
  : Type extends StringConstructor
    ? string
    : Type extends BooleanConstructor
      ? boolean
      : Type extends DateConstructor
        ? Date
        : Type extends GraphQLScalarType<infer Value>
          ? Value
          : Type extends ClassType<infer Instance>
            ? Instance
            : Type[keyof Type]

/** Decorator of one field. TypeScript infers the type of the field from `value`, which does not exist at run time. */
type Declaration<Value> = PropertyDecorator & { value: Value }
type OptionalDeclaration<Value> = Declaration<Value> & { isOptional: true }

type Declarations = Record<string, PropertyDecorator>
type InstanceOf<Fields> = {
  [Name in keyof Fields as Fields[Name] extends OptionalDeclaration<unknown> ? never : Name]: DeclaredValue<Fields[Name]>
} & {
  [Name in keyof Fields as Fields[Name] extends OptionalDeclaration<unknown> ? Name : never]?: DeclaredValue<Fields[Name]>
}
type DeclaredValue<Field> = Field extends Declaration<infer Value> ? Value : never

type Rules = PropertyDecorator[]

/** Declares a field. The rules apply to input fields and arguments. */
export const field = <const Type extends FieldType>(type: Type, description: string, ...rules: Rules) =>
  combine<Declaration<ValueOf<Type>>>([Field(() => type, { description }), ...rules])

/** Declares a field whose value can be null. */
export const nullable = <const Type extends FieldType>(type: Type, description: string) =>
  Field(() => type, { nullable: true, description }) as Declaration<ValueOf<Type> | null>

/** Declares an input field or argument that can be omitted. */
export const optional = <const Type extends FieldType>(type: Type, description: string, ...rules: Rules) =>
  combine<OptionalDeclaration<ValueOf<Type> | null>>([Field(() => type, { nullable: true, description }), ...rules])

/** Declares an input field or argument with a default value. */
export const withDefault = <const Type extends FieldType>(
  type: Type,
  defaultValue: ValueOf<Type>,
  description: string,
  ...rules: Rules
) => combine<Declaration<ValueOf<Type>>>([Field(() => type, { defaultValue, description }), ...rules])

/** Declares an input field of an update. If the field is omitted, its value does not change. Null is rejected. */
export const update = <const Type extends FieldType>(type: Type, description: string, ...rules: Rules) =>
  combine<OptionalDeclaration<ValueOf<Type>>>([UpdateField(() => type, description), ...rules])

/** Declares the field with an object's ID, which is also the value of the field `id`. */
export const nodeId = (description: string) => field(ID, description, AsNodeId())

/** Declares a GraphQL object type. */
export function objectType<Fields extends Declarations>(name: string, description: string, fields: Fields) {
  const type = createClass(name, fields)
  ObjectType(name, { simpleResolvers: true, description })(type)
  return type
}

/** Declares a GraphQL object type whose objects the `node` query can return. */
export function nodeType<Fields extends Declarations>(name: string, description: string, fields: Fields) {
  const type = createClass(name, fields)
  ObjectType(name, { implements: Node, simpleResolvers: true, description })(type)
  return type
}

/** Declares a GraphQL input type. */
export function inputType<Fields extends Declarations>(name: string, description: string, fields: Fields) {
  const type = createClass(name, fields)
  InputType(name, { description })(type)
  return type
}

/** Declares the arguments of an operation. */
export function argsType<Fields extends Declarations>(fields: Fields) {
  const type = createClass('Arguments', fields)
  ArgsType()(type)
  return type
}

/** Declares the arguments of an operation, in addition to those of the class `base`. */
export function extendArgs<Base extends object, Fields extends Declarations>(base: ClassType<Base>, fields: Fields) {
  const type = createClass(base.name, fields, base)
  ArgsType()(type)
  return type as ClassType<Base & InstanceOf<Fields>>
}

function createClass<Fields extends Declarations>(name: string, fields: Fields, base: ClassType = Object) {
  // The computed property gives the class its name.
  const type = { [name]: class extends base {} }[name]!
  for (const [field, decorate] of Object.entries(fields)) decorate(type.prototype, field)
  return type as ClassType<InstanceOf<Fields>>
}

/** Applies decorators in reverse order, like TypeScript. */
function combine<Declared>(decorators: PropertyDecorator[]): Declared {
  const decorateField: PropertyDecorator = (target, name) => {
    for (const decorate of decorators.toReversed()) decorate(target, name)
  }
  return decorateField as Declared
}
