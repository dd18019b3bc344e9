import { types } from '@assay/formats'
import { shown } from '../../platform/errors/errors.js'
import type { Check, CheckVerdict } from './check.js'

/** The name's extension is allowed, and the content is nothing that it does not stand for. */
export const extension: Check = async (file) => {
  const byName = nameVerdict(file.extension, file.submission.rules)
  if (byName) return byName
  const allowed = `Extension '${file.extension}' is allowed`
  if (file.tooLarge)
    return {
      outcome: 'passed',
      message: `${allowed}; the content was not looked at, because it is too large.`,
      evidence: { extension: file.extension },
    }
  const findings = await file.findings()
  if ('failure' in findings)
    return {
      outcome: 'passed',
      message: `${allowed}; the content could not be looked at.`,
      evidence: { extension: file.extension },
    }
  const { type, mime, fits, durationMs } = findings.recognition
  const evidence = { extension: file.extension, recognised: type, content_type: mime }
  if (fits)
    return {
      outcome: 'passed',
      message: `${allowed}, and the content ${type ? `is ${article(type)}` : 'is no other known type'}.`,
      evidence,
      durationMs,
    }
  return {
    outcome: 'failed',
    message: `The content is ${article(type!)}, and '.${shown(file.extension)}' does not stand for that${callIt(type!)}`,
    evidence,
    durationMs,
  }
}

function nameVerdict(extension: string, rules: { allowedExtensions: string[]; contextKey: string }): CheckVerdict | undefined {
  if (rules.allowedExtensions.includes(extension)) return undefined
  const allowed = rules.allowedExtensions
  const what = extension === '' ? 'A file name without an extension' : `Extension '${shown(extension)}'`
  return {
    outcome: 'failed',
    message: `${what} is not allowed in context '${rules.contextKey}'; allowed: ${allowed.join(', ')}.`,
    evidence: { extension: shown(extension), allowed },
  }
}

const names: Record<string, string> = {
  exe: 'a Windows program',
  elf: 'a Linux program',
  macho: 'a macOS program',
  class: 'a Java program',
  pdf: 'a PDF document',
  text: 'text',
  'zip-damaged': 'a damaged ZIP archive',
  ole: 'an OLE compound file',
  'encrypted-ooxml': 'an Office document with a password',
  'raw-photo': 'a raw photo',
  'mp4-audio': 'sound in an MPEG-4 file',
  'iso-damaged': 'an incomplete MPEG-4 file',
  'mov-mp4': 'a QuickTime or MPEG-4 film',
  'ogg-audio': 'sound in an Ogg file',
  'ogg-opus': 'Opus sound in an Ogg file',
  'ogg-video': 'a film in an Ogg file',
}

const article = (type: string): string => names[type] ?? `of type ${type.toUpperCase()}`

const callIt = (type: string): string => {
  const usual = types[type]?.extensions[0]
  return usual ? `; files of that type are called .${usual}.` : '.'
}
