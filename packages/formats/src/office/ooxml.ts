import { checkWholeZip, createArchiveReader } from '../archive/archive.js'
import type { PartSinkFactory } from '../archive/zip/check.js'
import { combineSinks } from '../archive/zip/member.js'
import { resolvePartName, toPartKey, ZipPackage } from '../archive/zip/package.js'
import type { FormatReader, ReaderLimits } from '../format.js'
import { createDamageError } from '../format-error.js'
import type { PartSink } from '../member-observer.js'
import { OfficeActiveContent } from './active-content.js'
import { EntityBombDetector, isXmlPart } from './entity-bombs.js'
import { getAttribute, parseXmlPart, type XmlElement, XmlPart } from './xml.js'

export type OoxmlKind = 'docx' | 'xlsx' | 'pptx'

const roots: Record<OoxmlKind, string> = { docx: 'document', xlsx: 'workbook', pptx: 'presentation' }

const contentTypes: Partial<Record<OoxmlKind, RegExp>> = {
  xlsx: /\/(worksheet|chartsheet|dialogsheet|xlMacrosheet|xlIntlMacrosheet)$/,
  pptx: /\/slide$/,
}

interface PartCheckPlan {
  main: string
  parts: Map<string, { root?: string }>
}

/**
 * Checks Word, Excel and PowerPoint files from Office 2007 and later (ECMA-376), including templates and files with macros. The
 * zip must be intact, and the main part and its related parts must be well-formed XML.
 */
export const createOoxmlReader = (kind: OoxmlKind): FormatReader =>
  createArchiveReader(async (source, level) => {
    const { limits } = level
    const plan = planPartChecks(new ZipPackage(source, limits), kind)
    const activity = new OfficeActiveContent()
    const createSink: PartSinkFactory = ({ name }) => combineSinks(activity.createSink(name), createPartSink(name, plan, limits))
    const { entries, unpackedBytes } = await checkWholeZip(source, level, createSink)
    return {
      main_part: plan.main,
      parts: entries,
      unpacked_bytes: unpackedBytes,
      ...(activity.found.size > 0 && { active_content: [...activity.found] }),
    }
  })

function createPartSink(name: string, plan: PartCheckPlan, limits: ReaderLimits): PartSink | undefined {
  const part = plan.parts.get(toPartKey(name))
  if (part) return new XmlPart(name, { limits, root: part.root, doctype: 'refused' })
  return isXmlPart(name) ? new EntityBombDetector(name) : undefined
}

function planPartChecks(zipPackage: ZipPackage, kind: OoxmlKind): PartCheckPlan {
  if (!zipPackage.has('[Content_Types].xml')) throw createDamageError('[Content_Types].xml is missing from the document')
  if (!zipPackage.has('_rels/.rels')) throw createDamageError('_rels/.rels is missing from the document')
  const main = readRelationships(zipPackage, '').find(({ type }) => type.endsWith('/officeDocument'))
  if (!main) throw createDamageError('no relationship in the document points to a main part')
  if (!zipPackage.has(main.target))
    throw createDamageError(`the main part ${main.target.slice(0, 100)} is missing from the document`)
  const plan: PartCheckPlan = {
    main: main.target,
    parts: new Map([
      ['[content_types].xml', { root: 'Types' }],
      ['_rels/.rels', { root: 'Relationships' }],
    ]),
  }
  const related = readRelationships(zipPackage, main.target)
  for (const { type, target } of related) {
    // Custom XML may have any content, because Office does not parse it.
    if (target.endsWith('.xml') && !type.endsWith('/customXml') && zipPackage.has(target)) plan.parts.set(target, {})
  }
  // Binary workbooks (xlsb) store the workbook and its sheets in a binary format, so these parts are not parsed as XML.
  if (main.target.endsWith('.bin')) return plan
  plan.parts.set(main.target, { root: roots[kind] })
  const content = related.filter(({ type }) => contentTypes[kind]?.test(type))
  if (content.length > 0 ? !content.some(({ target }) => zipPackage.has(target)) : kind === 'xlsx')
    throw createDamageError(`all ${kind === 'xlsx' ? 'sheets' : 'slides'} are missing from the document`)
  return plan
}

function readRelationships(zipPackage: ZipPackage, part: string): { type: string; target: string }[] {
  const slash = part.lastIndexOf('/') + 1
  const name = `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`
  const found: { type: string; target: string }[] = []
  const addRelationship = (element: XmlElement) => {
    if (element.name !== 'Relationship' || getAttribute(element, 'TargetMode')?.toLowerCase() === 'external') return
    if (found.length < zipPackage.limits.maxEntries)
      found.push({
        type: getAttribute(element, 'Type') ?? '',
        target: resolvePartName(part, getAttribute(element, 'Target') ?? ''),
      })
  }
  const bytes = zipPackage.has(name) ? zipPackage.read(name) : undefined
  if (bytes)
    parseXmlPart(name, bytes, {
      limits: zipPackage.limits,
      root: 'Relationships',
      doctype: 'refused',
      onElement: addRelationship,
    })
  return found
}
