import { registerEnumType } from 'type-graphql'
import { type ErrorCode, errorCodeRows, errorCodes } from '../../platform/errors/error-codes.js'

export function createEnum<Value extends string>(name: string, description: string, values: Record<Value, string>) {
  const names = Object.fromEntries(Object.keys(values).map((value) => [value, value])) as { [Each in Value]: Each }
  const meanings = Object.entries(values).map(([value, meaning]) => [value, { description: meaning }])
  registerEnumType(names, { name, description, valuesConfig: Object.fromEntries(meanings) })
  return names
}

/** Creates a GraphQL enum of error codes. Names and descriptions come from the error code table. */
export const createCodeEnum = <Code extends ErrorCode>(codes: readonly Code[], type: { name: string; description: string }) =>
  createEnum(
    type.name,
    type.description,
    Object.fromEntries(codes.map((code) => [code, errorCodeRows[code].meaning])) as Record<Code, string>,
  )

export const ErrorCodeName = createCodeEnum(errorCodes, {
  name: 'ErrorCode',
  description: 'Error code. REST returns the code in lower case. GraphQL returns it in upper case, in `extensions.code`.',
})
