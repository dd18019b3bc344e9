import 'reflect-metadata'
import { expect, test } from '@jest/globals'
import { createOpenApiDocument } from '../../scripts/openapi/document.js'
import { buildSchema } from '../../src/api/graphql/schema.js'
import { createResolvers } from '../../src/features/resolvers.js'

interface Item {
  kind: string
  text: string
  name?: string
}
interface Language {
  collectFindings(): Item[]
  isChecked(finding: Item): boolean
  formatFinding(finding: Item): string
  findBrokenRules(item: Item): string[]
}
const { findBrokenRules, collectFindings, isChecked, formatFinding } = (await import(
  new URL('../../scripts/language.mjs', import.meta.url).href
)) as Language

test('descriptions, messages, comments, names and docs follow the language rules', () => {
  expect(collectFindings().filter(isChecked).map(formatFinding)).toEqual([])
})

test('summaries and descriptions in the OpenAPI document follow the language rules', () => {
  const damaged: string[] = []
  JSON.stringify(
    createOpenApiDocument(buildSchema(createResolvers({} as Parameters<typeof createResolvers>[0])), '1.0.0'),
    (key, text) => {
      // Summaries such as "List events" are deliberately short, and examples are data.
      const kind = key === 'description' ? 'description' : key === 'summary' ? 'message' : undefined
      if (kind && typeof text === 'string') damaged.push(...findBrokenRules({ kind, text }).map((rule) => `${rule}: ${text}`))
      return /^examples?$/.test(key) ? undefined : text
    },
  )
  expect(damaged).toEqual([])
})

test.each([
  ['headless clause', { kind: 'comment', text: 'Of what looks at the file.' }],
  ['odd word', { kind: 'message', text: 'The token is ended for good.' }],
  ['"where" for "if"', { kind: 'docs', text: 'Null where there is none.' }],
  ['person', { kind: 'description', text: 'The user, while he may sign in.' }],
  ['name', { kind: 'name', text: 'mostLockedMs' }],
  ['short description', { kind: 'description', text: 'It is.' }],
  ['repeated name', { kind: 'description', name: 'contextKeyOfFile', text: 'The context key of the file.' }],
  ['long sentence', { kind: 'docs', text: 'word '.repeat(36) }],
])("reports a violation of the rule '%s' in the language check", (rule, item) => {
  expect(findBrokenRules(item)).toEqual([expect.stringMatching(`^${rule}`)])
})

test('accepts plain descriptions, questions and quoted code in the language check', () => {
  for (const text of ['Number of failed calls.', 'What is a context?', 'Text of `where it is` and `he`.'])
    expect(findBrokenRules({ kind: 'description', text })).toEqual([])
})
