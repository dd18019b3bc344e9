import { type Anchor, AnchorSearch } from './anchors.js'
import type { RulePart, ScriptRule } from './rules.js'

export class Seen {
  begun = false
  readonly parts = new Set<RulePart>()
}

type Search = (bytes: Buffer) => boolean

interface Look {
  bytes: Buffer
  seen: Seen
  first: boolean
  anchors: Set<Anchor>
}

/** One quick pass for all anchors; then YARA is asked only for those parts of rules whose anchors stand there. */
export class ScriptSearch {
  readonly #rules: ScriptRule[]
  readonly #anchors: AnchorSearch
  readonly #searches = new Map<RulePart, Search>()

  constructor(rules: ScriptRule[], compile: (rule: string) => Search) {
    this.#rules = rules
    const parts = rules.flatMap((rule) => rule.parts)
    this.#anchors = new AnchorSearch(parts.flatMap(({ anchors }) => anchors ?? []))
    for (const part of parts) {
      const { strings, condition = 'any of them' } = part
      this.#searches.set(part, compile(`rule part { strings: ${strings} condition: ${condition} }`))
    }
  }

  /** The signature of the first rule whose last missing part, if any, stands in `bytes`. */
  find(bytes: Buffer, seen: Seen): string | undefined {
    const look = { bytes, seen, first: !seen.begun, anchors: this.#anchors.in(bytes) }
    seen.begun = true
    if (look.anchors.size === 0 && seen.parts.size === 0) return undefined
    return this.#rules.find((rule) => this.#matches(rule, look))?.signature
  }

  #matches({ parts }: ScriptRule, look: Look): boolean {
    const { seen, bytes } = look
    for (const part of parts) {
      if (seen.parts.has(part)) continue
      if (mayStand(part, parts, look) && this.#searches.get(part)!(bytes)) seen.parts.add(part)
      else if (part.atStart) return false
    }
    return parts.every((part) => seen.parts.has(part))
  }
}

function mayStand({ anchors, atStart }: RulePart, parts: RulePart[], look: Look): boolean {
  if (atStart && !look.first) return false
  return anchors ? anchors.some((anchor) => look.anchors.has(anchor)) : parts.some((part) => look.seen.parts.has(part))
}
