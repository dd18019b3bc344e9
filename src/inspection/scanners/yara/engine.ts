import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { MemberObserver, RandomAccessSource } from '@assay/formats'
import { type Visitor, Walk, WalkEnded, type WalkLimits, type WindowPosition } from '@assay/formats/walk'
import { eicar } from '../eicar.js'
import type { UnverifiedVerdict } from '../verdict.js'
import { findDeceptiveName, ownRules, type RuleSource } from './rules.js'
import { findInMacros, ScriptSearch, SearchState } from './script-search.js'

export type EngineKind = 'native' | 'wasm'

export interface YaraEngine {
  kind: EngineKind
  version: string
  rules: number
  find: MatchRules
  /**
   * Returns the time of the last successful EICAR test, which is at most a minute old. Throws if the engine does not detect the
   * EICAR string.
   */
  verifyDetection(): Date
}

/**
 * Returns the signature of the first matching rule. Script rules, which are much slower, apply only if `isText` is true. `state`
 * contains their matches in earlier windows of the file. Operator rules apply to each window separately.
 */
export type MatchRules = (bytes: Buffer, isText: boolean, state?: SearchState) => string | undefined

/** Returns the signatures of the matching rules. */
type RuleSearch = (bytes: Buffer) => string[]
/** Compiles rules. For rules that count matches, `maxMatchesPerPattern` limits the number of reported matches per pattern. */
type Compile = (text: string, maxMatchesPerPattern?: number) => RuleSearch

export class InvalidRulesError extends Error {
  override readonly name = 'InvalidRulesError'
}

const require = createRequire(import.meta.url)

// YARA-X version in each release of the native binding, because the binding does not report the version.
const nativeVersions: Record<string, string> = { '0.3.0': '1.7.1' }
// Maximum number of matches per pattern and window. The native binding creates an object for each match.
const maxMatches = 10_000
const proofValidityMs = 60_000

export function hasNativeEngine(): boolean {
  try {
    require('@litko/yara-x')
    return true
  } catch {
    return false
  }
}

/** Compiles both rule sets separately, so that an operator's `global rule` cannot disable built-in rules. */
export async function openEngine(kind: EngineKind, operatorSources: RuleSource[]): Promise<YaraEngine> {
  const { compile, version } = kind === 'native' ? openNative() : await openWasm()
  const anywhere = compile(ownRules.anywhere)
  // One reported match per pattern is enough to decide whether a part of a rule matches.
  const scripts = new ScriptSearch(ownRules.scripts, (text) => {
    const search = compile(text, 1)
    return (bytes) => search(bytes).length > 0
  })
  const operatorRules = operatorSources.length > 0 ? compileAll(compile, operatorSources) : () => []
  const findMatch: MatchRules = (bytes, isText, state = new SearchState()) =>
    anywhere(bytes)[0] ?? (isText ? scripts.find(bytes, state) : undefined) ?? operatorRules(bytes)[0]
  let provedAt = new Date(0)
  return {
    kind,
    version,
    rules:
      countRules(ownRules.anywhere) +
      ownRules.scripts.length +
      operatorSources.reduce((count, { text }) => count + countRules(text), 0),
    find: findMatch,
    verifyDetection: () => {
      if (Date.now() - provedAt.getTime() < proofValidityMs) return provedAt
      if (anywhere(eicar).length === 0) throw new Error('YARA-X does not detect the EICAR test string')
      provedAt = new Date()
      return provedAt
    },
  }
}

/** Compiles all rule files in one namespace, so that they can reference each other. An error names the file that caused it. */
function compileAll(compile: Compile, sources: RuleSource[]): RuleSearch {
  try {
    return compile(sources.map(({ text }) => text).join('\n'))
  } catch (error) {
    let before = ''
    for (const { origin, text } of sources) {
      const fault = findRuleError(compile, `${before}${text}`)
      // Compile this file alone, so that the error message contains its line numbers.
      if (fault)
        throw new InvalidRulesError(`The YARA rules in '${origin}' do not compile: ${findRuleError(compile, text) ?? fault}`)
      before += `${text}\n`
    }
    throw new InvalidRulesError(`The YARA rules do not compile: ${getErrorMessage(error)}`)
  }
}

function findRuleError(compile: Compile, text: string): string | undefined {
  try {
    compile(text)
    return undefined
  } catch (error) {
    return getErrorMessage(error)
  }
}

const getErrorMessage = (error: unknown) => String((error as Error)?.message ?? error).trim()

// Counts rules in the source text, because neither binding reports their number.
const countRules = (text: string) =>
  text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '').match(/^\s*(?:(?:private|global)\s+)*rule\s+\w+/gm)?.length ?? 0

function openNative(): { compile: Compile; version: string } {
  const yara = require('@litko/yara-x') as typeof import('@litko/yara-x')
  const { version } = require('@litko/yara-x/package.json') as { version: string }
  const compile: Compile = (text, maxMatchesPerPattern = maxMatches) => {
    const rules = yara.compile(text) as unknown as import('@litko/yara-x').YaraX
    rules.setMaxMatchesPerPattern(maxMatchesPerPattern)
    return (bytes) =>
      rules
        .scan(bytes)
        .map(({ ruleIdentifier, meta }) => getSignature((meta as Record<string, unknown>).signature, ruleIdentifier))
  }
  return { compile, version: `${nativeVersions[version] ?? `of @litko/yara-x ${version}`} (native)` }
}

interface WasmResult {
  valid: boolean
  errors?: unknown[]
  matches: { identifier: string; isPrivate: boolean; metadata: { identifier: string; value: unknown }[] }[]
}

async function openWasm(): Promise<{ compile: Compile; version: string }> {
  const yara = await import('@virustotal/yara-x')
  const path = require.resolve('@virustotal/yara-x/package.json')
  const { version } = require('@virustotal/yara-x/package.json') as { version: string }
  await yara.default({ module_or_path: readFileSync(path.replace(/package\.json$/, 'pkg/yara_x_js_bg.wasm')) })
  const compile: Compile = (text, maxMatchesPerPattern = maxMatches) => {
    const compiler = new yara.Compiler()
    compiler.addSource(text)
    // `build` consumes the compiler. Accessing its `errors` or `free` afterwards fails.
    const scanner = compiler.build().scanner()
    scanner.setMaxMatchesPerPattern(maxMatchesPerPattern)
    return (bytes) => {
      const result = scanner.scan(bytes) as WasmResult
      if (!result.valid) throw new Error(`YARA-X could not scan: ${JSON.stringify(result.errors)}`)
      return result.matches
        .filter(({ isPrivate }) => !isPrivate)
        .map((match) => {
          const signature = match.metadata.find(({ identifier }) => identifier === 'signature')
          return getSignature(signature?.value, match.identifier)
        })
    }
  }
  return { compile, version: `${version} (WebAssembly)` }
}

const getSignature = (description: unknown, rule: string) => (typeof description === 'string' && description ? description : rule)

class Found extends WalkEnded {}
class Cancelled extends WalkEnded {}
class EngineFailed extends WalkEnded {}

/** Searches a file and all content that is unpacked from it. */
export class Search implements Visitor {
  /** Receives unpacked members from the reader that reads the same file. */
  readonly observer: MemberObserver
  /** Time spent in the engine, in milliseconds. */
  spentMs = 0
  readonly #walk: Walk
  readonly #find: MatchRules

  constructor(
    source: RandomAccessSource,
    { find, limits, cancelled }: { find: MatchRules; limits: WalkLimits; cancelled(): boolean },
  ) {
    this.#find = find
    const throwIfCancelled = () => {
      if (cancelled()) throw new Cancelled()
    }
    this.#walk = new Walk(source, { visitor: this, limits, step: throwIfCancelled })
    this.observer = this.#walk.observer
  }

  onMember(name: string): void {
    throwIfFound(findDeceptiveName(name))
  }

  onContent() {
    const state = new SearchState()
    return (bytes: Buffer, position: WindowPosition) => throwIfFound(this.#search(bytes, position, state))
  }

  async finish(): Promise<UnverifiedVerdict> {
    try {
      const { unscannedParts } = await this.#walk.finish()
      return unscannedParts[0] ? { verdict: 'incomplete', reason: unscannedParts[0].reason } : { verdict: 'clean' }
    } catch (error) {
      if (error instanceof Found) return { verdict: 'infected', signature: error.message }
      throw error
    }
  }

  #search(bytes: Buffer, position: WindowPosition, state: SearchState): string | undefined {
    const start = performance.now()
    try {
      return findInWindow(bytes, position, state, this.#find) ?? findInMacros(bytes, this.#find)
    } catch (error) {
      // Wrap engine failures, so that neither the reader nor the walk treats them as damage to the file.
      throw new EngineFailed((error as Error).message, { cause: error })
    } finally {
      this.spentMs += performance.now() - start
    }
  }
}

function throwIfFound(signature: string | undefined): void {
  if (signature !== undefined) throw new Found(signature)
}

const endBytes = 256 * 1024

/** Searches a window. Script rules take a few ms per MiB, so they apply only to text and to both ends of other files. */
function findInWindow(bytes: Buffer, { first, last }: WindowPosition, state: SearchState, find: MatchRules): string | undefined {
  if (bytes.length <= 2 * endBytes || looksLikeText(bytes)) return find(bytes, true, state)
  return (
    find(bytes, false) ??
    (first ? find(bytes.subarray(0, endBytes), true, state) : undefined) ??
    (last ? find(bytes.subarray(-endBytes), true, state) : undefined)
  )
}

const samples = 16
const sampleBytes = 256

function looksLikeText(bytes: Buffer): boolean {
  for (let sample = 0; sample < samples; sample++) {
    const start = Math.floor(((bytes.length - sampleBytes) * sample) / (samples - 1))
    for (let at = start; at < start + sampleBytes; at++) {
      const byte = bytes[at] as number
      if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) return false
    }
  }
  return true
}
