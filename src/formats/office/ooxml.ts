import { closedIn, openNest } from '../archive/archive.js'
import { damaged, decided } from '../archive/refusal.js'
import { checkZip } from '../archive/zip/check.js'
import type { PartSink } from '../archive/zip/member.js'
import { testOtherMethods } from '../archive/zip/other-methods.js'
import { keyOf, resolvePart, ZipPackage } from '../archive/zip/package.js'
import { type FormatReader, type ReaderLimits, sound } from '../format.js'
import { EntityWatch, isXmlPart } from './entities.js'
import { both, OfficeActivity } from './office-activity.js'
import { attribute, parseXml, type XmlElement, XmlPart } from './xml.js'

export type OoxmlKind = 'docx' | 'xlsx' | 'pptx'

/** What each kind's main part is, and which of its relationships carry the content. */
const kinds: Record<OoxmlKind, { root: string; content?: { element: string; relationship: RegExp; called: string } }> = {
  docx: { root: 'document' },
  xlsx: {
    root: 'workbook',
    content: {
      element: 'sheet',
      relationship: /\/(worksheet|chartsheet|dialogsheet|xlMacrosheet|xlIntlMacrosheet)$/,
      called: 'sheets',
    },
  },
  pptx: { root: 'presentation', content: { element: 'sldId', relationship: /\/slide$/, called: 'slides' } },
}

interface Relationship {
  id: string
  type: string
  target: string
}

/** The parts that the program cannot do without. */
interface Plan {
  main: string
  parts: Map<string, { root?: string }>
  notes: string[]
}

/**
 * Word, Excel and PowerPoint since 2007, templates and files with macros included (ECMA-376, transitional or strict):
 * a sound zip whose relationships lead to the main part, and that part and what it names well-formed.
 */
export const readOoxml =
  (kind: OoxmlKind): FormatReader =>
  (source, limits) =>
    decided(async () => {
      const plan = planParts(new ZipPackage(source, limits), kind)
      const nest = openNest(source, limits)
      const activity = new OfficeActivity()
      const facts = await checkZip(source, nest, ({ name }) => both(activity.watch(name), structureOf(name, plan, limits)))
      await testOtherMethods(source, facts, nest)
      return sound([...plan.notes, ...nest.notes], {
        main_part: plan.main,
        parts: facts.entries,
        unpacked_bytes: facts.unpackedBytes,
        ...closedIn(nest),
        ...(activity.found.size > 0 && { active_content: [...activity.found] }),
      })
    })

function structureOf(name: string, plan: Plan, limits: ReaderLimits): PartSink | undefined {
  const part = plan.parts.get(keyOf(name))
  if (part) return new XmlPart(name, { limits, root: part.root, doctype: 'refused' })
  return isXmlPart(name) ? new EntityWatch(name) : undefined
}

function planParts(pack: ZipPackage, kind: OoxmlKind): Plan {
  if (!pack.has('[Content_Types].xml')) throw damaged('[Content_Types].xml is missing from the document')
  if (!pack.has('_rels/.rels')) throw damaged('_rels/.rels is missing from the document')
  const main = relationships(pack, '').find(({ type }) => type.endsWith('/officeDocument'))
  if (!main) throw damaged('no relationship of the document names its main part')
  if (!pack.has(main.target)) throw damaged(`the main part ${main.target.slice(0, 100)} is missing from the document`)
  const plan: Plan = {
    main: main.target,
    parts: new Map([
      ['[content_types].xml', { root: 'Types' }],
      ['_rels/.rels', { root: 'Relationships' }],
    ]),
    notes: [],
  }
  const related = relationships(pack, main.target)
  for (const { type, target } of related) {
    // Custom XML is the user's own, whatever it says; Office carries it along.
    if (target.endsWith('.xml') && !type.endsWith('/customXml') && pack.has(target)) plan.parts.set(target, {})
  }
  // The binary workbook (xlsb) has no XML to look at.
  if (!main.target.endsWith('.bin')) plan.parts.set(main.target, { root: kinds[kind].root })
  planContent(pack, kind, related, plan)
  return plan
}

/** At least one of the sheets or slides that the main part names must be there; Office repairs the loss of some. */
function planContent(pack: ZipPackage, kind: OoxmlKind, related: Relationship[], plan: Plan): void {
  const { content } = kinds[kind]
  if (!content || !plan.parts.has(plan.main)) return
  const named = elementsOf(pack, plan.main, content.element).map((element) => relationshipId(element))
  const targets = related
    .filter(({ id, type }) => named.includes(id) && content.relationship.test(type))
    .map(({ target }) => target)
  const missing = targets.filter((part) => !pack.has(part))
  if (targets.length === 0 ? named.length > 0 : missing.length === targets.length)
    throw damaged(`all ${content.called} are missing from the document`)
  if (missing.length > 0) plan.notes.push(`${missing.length} of ${targets.length} ${content.called} are missing`)
}

/** `r:id`, whatever its prefix; `id` alone is another attribute. */
function relationshipId(element: XmlElement): string | undefined {
  const key = Object.keys(element.attributes).find((candidate) => /^[^:]+:id$/.test(candidate))
  return key === undefined ? undefined : element.attributes[key]
}

function elementsOf(pack: ZipPackage, part: string, name: string, root?: string): XmlElement[] {
  const found: XmlElement[] = []
  const element = (candidate: XmlElement) =>
    void (candidate.name === name && found.length < pack.limits.maxEntries && found.push(candidate))
  const bytes = pack.read(part)
  if (bytes) parseXml(part, bytes, { limits: pack.limits, root, doctype: 'refused', element })
  return found
}

function relationships(pack: ZipPackage, part: string): Relationship[] {
  const slash = part.lastIndexOf('/') + 1
  const name = `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`
  if (!pack.has(name)) return []
  return elementsOf(pack, name, 'Relationship', 'Relationships')
    .filter((element) => attribute(element, 'TargetMode')?.toLowerCase() !== 'external')
    .map((element) => ({
      id: attribute(element, 'Id') ?? '',
      type: attribute(element, 'Type') ?? '',
      target: resolvePart(part, attribute(element, 'Target') ?? ''),
    }))
}
