import { registerEnumType } from 'type-graphql'
import { type ErrorCode, errorCodeRows, errorCodes } from '../error-codes.js'

/** A GraphQL enum of some error codes, spelled and described as their table has them. */
export function codeEnum<Code extends ErrorCode>(codes: readonly Code[], type: { name: string; description: string }) {
  const names = Object.fromEntries(codes.map((code) => [code, code])) as Record<Code, Code>
  registerEnumType(names, {
    ...type,
    valuesConfig: Object.fromEntries(
      codes.map((code) => [code, { description: sentence(errorCodeRows[code].meaning) }]),
    ) as never,
  })
  return names
}

const sentence = (meaning: string): string => `${meaning[0]!.toUpperCase()}${meaning.slice(1)}`

export const ErrorCodeName = codeEnum(errorCodes, {
  name: 'ErrorCode',
  description: 'What went wrong: in REST the code of the error, here in extensions.code in upper case.',
})
