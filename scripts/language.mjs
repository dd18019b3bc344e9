// npm run language [-- PATH…]: checks descriptions, messages, comments, names and docs for plain English. Prints counts per
// folder, or each finding below the given paths, and exits with status 1 if there are findings. test/unit/language.test.ts also
// checks the OpenAPI document.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, visit } from 'graphql'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Exempt messages: test strings, data lists and a help text. */
const unchecked = /^message (test\/|packages\/formats\/src\/types\.ts|packages\/proofs\/src\/command\/)/

const standardTerms = 'returned, reported, no client, also, permanently, treated as, recently or useful'
const phrases = /description|message|comment/
const rules = [
  [/^(Of|What|Whose|Who|Those|Whether|How|Where|Which|By)\b(?!.*\?$)/, 'headless clause. Start with a noun or verb', phrases],
  [/\b(told|tells of|nobody|whoever|somebody|likewise|for good|taken for|of late|of use)\b/i, `odd word. Write ${standardTerms}`],
  [/\b(where|as) (it|he|there|they|one|none|that) (is|was|are|were|has|had|may)\b/i, '"where" for "if". Write "if"'],
  [/\b(he|him|his)\b/i, 'person. Name the subject: the user, the service or the client'],
  [/^most[A-Z]/, 'name. Write max…', /name/],
  [/^(\S+\s*){0,3}$/, 'short description. Write at least four words', /description/],
]
const getWords = (text) => (text.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase())
const repeatsName = (text, name) =>
  getWords(text).every((word) => ['a', 'an', 'the', 'of', 'its', ...getWords(name)].includes(word))
const isLong = (sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > 35

/** Returns the rules that a text violates, each with its fix. */
export function findBrokenRules({ kind, name, text: original }) {
  const text = original.replace(/`[^`]*`/g, 'x')
  const broken = rules.filter(([pattern, , kinds]) => (kinds?.test(kind) ?? true) && pattern.test(text)).map(([, rule]) => rule)
  if (name && repeatsName(text, name)) broken.push('repeated name. State what the name does not')
  if (text.split(/(?<=[.!?])\s+|\n\s*[-*]/).some(isLong)) broken.push('long sentence. Use at most 35 words, better 25')
  return broken
}

function getSchemaTexts(source) {
  const found = []
  visit(parse(source), { enter: ({ description, name }) => void (description && found.push([description, name.value])) })
  return found.map(([{ value: text, loc }, name]) => ({ kind: 'description', line: loc.startToken.line, text, name }))
}

// Matches comments, string literals and names. Regular expression literals are matched only to be skipped.
const tokens =
  /((?:^[ \t]*\/\/.*\n?)+|\/\/.*|\/\*[\s\S]*?\*\/)|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|(?<=[=(,:!&|?;{}[]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|\b(most[A-Z]\w*)/gm
const marks = /^\s*(\/\*\*?|\*\/?|\/\/)|\*\/$/gm
const message = /^(?=.*[a-z]{3} [a-z])(?!.*\b(SELECT|INSERT|UPDATE|AS|SET|insert into) )\S+( \S+){3}/s

function* getSourceTexts(source) {
  for (const { index, 1: comment, 2: literal, 3: name } of source.matchAll(tokens)) {
    const line = source.slice(0, index).split('\n').length
    const text = literal?.slice(1, -1).replace(/\$\{[^}]*\}/g, 'x') ?? ''
    if (name) yield { kind: 'name', line, text: name }
    if (comment) yield { kind: 'comment', line, text: comment.replace(marks, '').replace(/\s+/g, ' ').trim() }
    if (message.test(text)) yield { kind: 'message', line, text }
  }
}

function* getDocTexts(source) {
  const prose = source.replace(/^(```|~~~)[\s\S]*?^\1/gm, (code) => code.replace(/.*/g, ''))
  for (const { index, 0: text } of prose.matchAll(/[^\n|]+(?:\n(?![\n#|>*\d-])[^\n|]+)*/g))
    yield { kind: 'docs', line: prose.slice(0, index).split('\n').length, text: text.trim() }
}

function listFiles(folder, pattern) {
  const paths = readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, path))
  return paths.filter((path) => pattern.test(path) && !/(^|\/)(node_modules|dist|generated)\//.test(path))
}

export function collectFindings() {
  const sources = ['src', 'packages', 'dashboard', 'scripts', 'test'].flatMap((folder) => listFiles(folder, /\.(tsx?|mts|mjs)$/))
  const docs = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...listFiles('docs', /\.md$/)]
  const files = [
    ['schema.graphql', getSchemaTexts],
    ...sources.map((file) => [file, getSourceTexts]),
    ...docs.map((file) => [file, getDocTexts]),
  ]
  const texts = files.flatMap(([file, textsOf]) =>
    Array.from(textsOf(readFileSync(join(root, file), 'utf8')), (item) => ({ ...item, file })),
  )
  return texts.flatMap((item) => findBrokenRules(item).map((rule) => ({ ...item, rule })))
}

export const isChecked = ({ kind, file }) => !unchecked.test(`${kind} ${file}`)
export const formatFinding = ({ file, line, rule, text }) => `${file}:${line}: ${rule}: "${text.slice(0, 150)}"`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = process.argv.slice(2)
  const findings = collectFindings().filter(isChecked)
  const selected = findings.filter(({ file }) => paths.length === 0 || paths.some((path) => file.startsWith(path)))
  const counts = {}
  for (const found of selected) {
    if (paths.length > 0) console.log(formatFinding(found))
    const folder = `${found.file.split('/', 2).join('/')} (${found.kind})`
    counts[folder] = (counts[folder] ?? 0) + 1
  }
  if (paths.length === 0) for (const [folder, count] of Object.entries(counts).sort()) console.log(`${count}\t${folder}`)
  if (selected.length > 0) process.exitCode = 1
}
