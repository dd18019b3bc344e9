import { createMaliciousError } from '../format-error.js'

/** Maximum number of shapes that an SVG may draw. Even maps draw only hundreds of thousands. */
const maxShapes = 10_000_000

/** Counts the shapes that an SVG draws. Nested `<use>` elements can draw a billion shapes in nine lines. */
export class SvgUses {
  readonly #drawn = new Map<string, Map<string, number>>([['', new Map()]])
  readonly #shapes = new Map<string, number>()
  readonly #within: string[] = ['']
  readonly #totals = new Map<string, number>()

  openElement(name: string, attributes: Record<string, string>): void {
    const around = this.#within.at(-1) as string
    const { id } = attributes
    const target = attributes.href ?? attributes['xlink:href']
    this.#shapes.set(around, (this.#shapes.get(around) ?? 0) + 1)
    if (id && !this.#drawn.has(id)) {
      this.#drawn.set(id, new Map())
      this.#addReference(around, id)
    }
    this.#within.push(id || around)
    if (/^(.*:)?use$/.test(name) && target?.startsWith('#')) this.#addReference(id || around, target.slice(1))
  }

  closeElement(): void {
    this.#within.pop()
  }

  checkTotal(): void {
    if (this.#countShapes('', 0) > maxShapes)
      throw createMaliciousError('svg_use', `nested <use> elements draw more than ${maxShapes} shapes`)
  }

  #addReference(parentId: string, id: string): void {
    const drawn = this.#drawn.get(parentId)
    drawn?.set(id, (drawn.get(id) ?? 0) + 1)
  }

  #countShapes(id: string, depth: number): number {
    const known = this.#totals.get(id)
    if (known !== undefined) return known
    if (depth > 1000) throw createMaliciousError('svg_use', '<use> elements are nested more than 1000 levels deep')
    // Renderers do not draw an element that refers to itself, so it counts as 0 shapes.
    this.#totals.set(id, 0)
    let total = this.#shapes.get(id) ?? 1
    for (const [each, times] of this.#drawn.get(id) ?? []) total += times * this.#countShapes(each, depth + 1)
    this.#totals.set(id, total)
    return total
  }
}
