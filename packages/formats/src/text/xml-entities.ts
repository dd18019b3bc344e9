import { createMaliciousError } from '../format-error.js'

// Limits from Expat: entities may expand to 8 MiB or 100 times the file size, whichever is larger.
const freeExpansion = 8 * 1024 * 1024
const maxExpansionRatio = 100
const maxEntityDepth = 100

interface Declaration {
  value: string
  external: boolean
}

/** Stores the entities that a DOCTYPE declares, and computes their expanded size without expanding or fetching them. */
export class XmlEntities {
  /** True if an external DTD may declare more entities, in which case unknown entities are not an error. */
  readonly mayBeElsewhere: boolean
  readonly external: string[] = []
  private readonly general = new Map<string, Declaration>()
  private readonly parameters = new Map<string, Declaration>()
  private readonly weights = new Map<Declaration, number>()
  private total = 0

  constructor(
    doctype: string,
    private readonly fileSize: number,
  ) {
    const subset = doctype.includes('[') ? doctype.slice(doctype.indexOf('[')) : ''
    this.mayBeElsewhere = /^\s*\S+\s+(SYSTEM|PUBLIC)\b/.test(doctype.slice(0, 1000)) || /%[\w.:-]+;/.test(subset)
    this.addDeclarations(subset)
    for (const [name, entity] of this.general) this.getExpandedLength(name, entity, this.general, 0)
    for (const [name, entity] of this.parameters) this.getExpandedLength(name, entity, this.parameters, 0)
    for (const [, name] of subset.matchAll(/%([\w.:-]+);/g)) this.countUse(this.parameters.get(name!))
  }

  getReplacement(name: string): string | undefined {
    const entity = this.general.get(name)
    if (!entity) return this.mayBeElsewhere ? '' : undefined
    this.countUse(entity)
    return ''
  }

  get expandsTooMuch(): boolean {
    return [...this.general.values()].some((entity) => (this.weights.get(entity) ?? 0) > freeExpansion)
  }

  private addDeclarations(subset: string): void {
    const text = subset.replace(/<!--.*?-->/gs, '')
    for (const match of text.matchAll(/<!ENTITY\s+(%\s+)?([^\s"'<>]+)\s+(?:"([^"]*)"|'([^']*)'|(SYSTEM|PUBLIC)\b)/g)) {
      const table = match[1] ? this.parameters : this.general
      const name = match[2]!
      // The first declaration of an entity is binding (XML 1.0, 4.2), so later ones are ignored.
      if (table.has(name)) continue
      table.set(name, { value: match[3] ?? match[4] ?? '', external: match[5] !== undefined })
      if (match[5]) this.external.push(name)
    }
  }

  private getExpandedLength(name: string, entity: Declaration, table: Map<string, Declaration>, depth: number): number {
    const known = this.weights.get(entity)
    if (known === -1) throw createMaliciousError('xml_entity_circle', `the entity '${name.slice(0, 50)}' refers to itself`)
    if (known !== undefined) return known
    if (depth > maxEntityDepth)
      throw createMaliciousError('xml_entity_expansion', `entities are nested more than ${maxEntityDepth} levels deep`)
    this.weights.set(entity, -1)
    let weight = entity.value.length
    const reference = table === this.general ? /&([^#;\s][^;\s]*);/g : /%([\w.:-]+);/g
    for (const [, inner] of entity.value.matchAll(reference)) {
      const declared = table.get(inner!)
      if (declared) weight += this.getExpandedLength(inner!, declared, table, depth + 1)
    }
    this.weights.set(entity, weight)
    return weight
  }

  private countUse(entity: Declaration | undefined): void {
    this.total += entity ? (this.weights.get(entity) ?? 0) : 0
    if (this.total > freeExpansion && this.total > this.fileSize * maxExpansionRatio) {
      throw createMaliciousError(
        'xml_entity_expansion',
        `entities would expand to more than ${Math.floor(freeExpansion / 1048576)} MiB and more than ${maxExpansionRatio} times the file size`,
      )
    }
  }
}
