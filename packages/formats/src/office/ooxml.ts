import { archiveReader, checkWholeZip } from '../archive/archive.js'
import type { PartSinkFactory } from '../archive/zip/check.js'
import { bothSinks } from '../archive/zip/member.js'
import { resolvePart, toKey, ZipPackage } from '../archive/zip/package.js'
import type { FormatReader, ReaderLimits } from '../format.js'
import { damaged } from '../format-error.js'
import type { PartSink } from '../member-observer.js'
import { OfficeActiveContent } from './active-content.js'
import { EntityBombDetector, isXmlPart } from './entity-bombs.js'
import { attribute, parseXml, type XmlElement, XmlPart } from './xml.js'

export type OoxmlKind = 'docx' | 'xlsx' | 'pptx'

const roots: Record<OoxmlKind, string> = { docx: 'document', xlsx: 'workbook', pptx: 'presentation' }

const contents: Partial<Record<OoxmlKind, RegExp>> = {
  xlsx: /\/(worksheet|chartsheet|dialogsheet|xlMacrosheet|xlIntlMacrosheet)$/,
  pptx: /\/slide$/,
}

interface Plan {
  main: string
  parts: Map<string, { root?: string }>
}

/**
 * Checks Word, Excel and PowerPoint files of version 2007 and later (ECMA-376), including templates and files with macros. The
 * zip must be intact, and the main part and its related parts must exist and be well-formed XML.
 */
export const readOoxml = (kind: OoxmlKind): FormatReader =>
  archiveReader(async (source, level) => {
    const { limits } = level
    const plan = planParts(new ZipPackage(source, limits), kind)
    const activity = new OfficeActiveContent()
    const watch: PartSinkFactory = ({ name }) => bothSinks(activity.watch(name), getPartSink(name, plan, limits))
    const { entries, unpackedBytes } = await checkWholeZip(source, level, watch)
    return {
      main_part: plan.main,
      parts: entries,
      unpacked_bytes: unpackedBytes,
      ...(activity.found.size > 0 && { active_content: [...activity.found] }),
    }
  })

function getPartSink(name: string, plan: Plan, limits: ReaderLimits): PartSink | undefined {
  const part = plan.parts.get(toKey(name))
  if (part) return new XmlPart(name, { limits, root: part.root, doctype: 'refused' })
  return isXmlPart(name) ? new EntityBombDetector(name) : undefined
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
  }
  const related = relationships(pack, main.target)
  for (const { type, target } of related) {
    // Office does not parse custom XML, so it may have any content.
    if (target.endsWith('.xml') && !type.endsWith('/customXml') && pack.has(target)) plan.parts.set(target, {})
  }
  // Binary workbooks (xlsb) do not contain XML.
  if (main.target.endsWith('.bin')) return plan
  plan.parts.set(main.target, { root: roots[kind] })
  const content = related.filter(({ type }) => contents[kind]?.test(type))
  if (content.length > 0 ? !content.some(({ target }) => pack.has(target)) : kind === 'xlsx')
    throw damaged(`all ${kind === 'xlsx' ? 'sheets' : 'slides'} are missing from the document`)
  return plan
}

function relationships(pack: ZipPackage, part: string): { type: string; target: string }[] {
  const slash = part.lastIndexOf('/') + 1
  const name = `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`
  const found: { type: string; target: string }[] = []
  const element = (each: XmlElement) => {
    if (each.name !== 'Relationship' || attribute(each, 'TargetMode')?.toLowerCase() === 'external') return
    if (found.length < pack.limits.maxEntries)
      found.push({ type: attribute(each, 'Type') ?? '', target: resolvePart(part, attribute(each, 'Target') ?? '') })
  }
  const bytes = pack.has(name) ? pack.read(name) : undefined
  if (bytes) parseXml(name, bytes, { limits: pack.limits, root: 'Relationships', doctype: 'refused', element })
  return found
}
