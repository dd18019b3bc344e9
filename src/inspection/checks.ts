import { types } from '@assay/formats'
import { type BlockReason, blockReasons, type PolicyRejection } from '../platform/errors/block-reasons.js'
import { toPrintableText } from '../platform/errors/errors.js'
import { megabyte } from '../platform/units.js'
import type { CheckOutcome, Findings, Submission, ValidationRules, WorkerFailureResult } from './report.js'
import type { ScanVerdict } from './scanners/verdict.js'
import type { EngineIdentity } from './scanners/virus-scanner.js'
import type { WorkerFailure } from './workers/work.js'

/** Input for the checks on one file. Expensive results are computed once, on first use. */
export interface FileChecks {
  readonly submission: Submission
  /** Last extension of the file name in lower case, without the dot. Empty if there is none. */
  readonly extension: string
  /** True if the file exceeds the size limit of its context. If it does, its content is not read. */
  readonly tooLarge: boolean
  findings(): Promise<Findings | WorkerFailureResult>
  /** Returns the evidence that the format reader collected. */
  evidence(): Promise<Record<string, unknown> | undefined>
  scan(): Promise<Scan>
}

export interface Scan {
  engine: EngineIdentity
  verdict: ScanVerdict
  durationMs: number
}

export interface CheckVerdict {
  outcome: CheckOutcome
  message: string
  /** Set if the file passed the check itself, but a policy of the context rejects it. */
  refusal?: PolicyRejection
  /** Evidence in snake_case, copied to the report and to the error details. Keep it small, because error responses contain it. */
  evidence?: Record<string, unknown>
  /** Duration of the actual work. If unset, the report contains the duration of the whole check. */
  durationMs?: number
}

/** Decides whether to reject a file for a particular block reason. */
type Check = (file: FileChecks) => CheckVerdict | Promise<CheckVerdict>

/** Passes if the extension is allowed and matches the detected content type. */
const checkExtension: Check = async (file) => {
  const { rules } = file.submission
  if (!rules.allowedExtensions.includes(file.extension)) {
    const [name, allowed] = [toPrintableText(file.extension), rules.allowedExtensions]
    const what = name === '' ? 'A file name without an extension' : `Extension '${name}'`
    const message = `${what} is not allowed in context '${rules.contextKey}'. Allowed extensions: ${allowed.join(', ')}.`
    return { outcome: 'failed', message, evidence: { extension: name, allowed } }
  }
  const createUncheckedVerdict = (reason: string): CheckVerdict => ({
    outcome: 'passed',
    message: `Extension '${file.extension}' is allowed. The content was not checked because ${reason}.`,
    evidence: { extension: file.extension },
  })
  if (file.tooLarge) return createUncheckedVerdict('the file is too large')
  const findings = await file.findings()
  if ('failure' in findings) return createUncheckedVerdict('the file could not be read')
  const { type, mime, fits, durationMs } = findings.recognition
  const evidence = { extension: file.extension, recognised: type, content_type: mime }
  const found = type ? `is ${typeNames[type] ?? `of type ${type.toUpperCase()}`}` : 'has an unknown type'
  if (fits)
    return {
      outcome: 'passed',
      message: `Extension '${file.extension}' is allowed, and the content ${found}.`,
      evidence,
      durationMs,
    }
  const usual = types[type!]?.extensions[0]
  const hint = usual ? ` The usual extension for that type is .${usual}.` : ''
  return {
    outcome: 'failed',
    message: `The content ${found}, which does not match the extension '.${toPrintableText(file.extension)}'.${hint}`,
    evidence,
    durationMs,
  }
}

const typeNames: Record<string, string> = {
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
  'mp4-audio': 'MPEG-4 audio',
  'iso-damaged': 'an incomplete MPEG-4 file',
  'mov-mp4': 'a QuickTime or MPEG-4 video',
  'ogg-audio': 'Ogg audio',
  'ogg-opus': 'Ogg Opus audio',
  'ogg-video': 'an Ogg video',
}

/** Passes if the file does not exceed the context's size limit. */
const checkSize: Check = ({ submission, tooLarge }) => {
  const { sizeBytes, rules } = submission
  const limit = rules.maxFileSizeMb * megabyte
  const evidence = { size_bytes: sizeBytes, limit_bytes: limit }
  if (!tooLarge)
    return { outcome: 'passed', message: `The file size is ${sizeBytes} bytes. The limit is ${limit} bytes.`, evidence }
  const isKnown = submission.content || submission.announced
  const found = isKnown
    ? `The file size is ${sizeBytes} bytes`
    : `The upload was stopped after ${Math.max(sizeBytes, limit)} bytes`
  const allowed = `The limit of context '${rules.contextKey}' is ${rules.maxFileSizeMb} MB (${limit} bytes)`
  return { outcome: 'failed', message: `${found}. ${allowed}.`, evidence }
}

/** Passes if the file contains more than whitespace, NUL bytes and byte-order marks. */
const checkBlankness: Check = async (file) => {
  const { sizeBytes, rules } = file.submission
  const evidence = { size_bytes: sizeBytes }
  if (!rules.rejectBlankFiles) return { outcome: 'skipped', message: `Context '${rules.contextKey}' accepts blank files.` }
  if (sizeBytes === 0) return { outcome: 'failed', message: 'The file is empty (0 bytes).', evidence }
  const findings = await file.findings()
  if ('failure' in findings || !findings.blankness) return { outcome: 'skipped', message: 'The content could not be read.' }
  const { blank, durationMs } = findings.blankness
  if (!blank) return { outcome: 'passed', message: 'The file is not blank.', durationMs }
  const message = `The file is blank: it contains only whitespace, NUL bytes and byte-order marks (${sizeBytes} bytes).`
  return { outcome: 'failed', message, evidence, durationMs }
}

/** Passes if common programs can open the file, it is not maliciously crafted, and the context accepts its content. */
const checkIntegrity: Check = async (file) => {
  const { rules, content } = file.submission
  const { requiredSha256: required } = rules
  if (required && content && content.sha256 !== required) return toChecksumVerdict(content.sha256, required)
  const findings = await file.findings()
  // Files that crash the reader, and maliciously crafted files, are rejected even if the context accepts damaged files.
  if ('failure' in findings) return toFailureVerdict(findings)
  const { soundness } = findings
  if (!soundness) return { outcome: 'skipped', message: 'The content was not checked.' }
  const isMalicious = !soundness.verdict.sound && soundness.verdict.maliciousConstruction
  const verdict = toReaderVerdict(soundness, file.extension)
  if (verdict.outcome === 'failed' && (rules.rejectCorruptFiles || isMalicious)) return verdict
  const evidence = getPolicyEvidence(soundness)
  const refusal = findPolicyRejection(evidence, rules)
  if (refusal) return { ...refusal, outcome: 'failed', evidence, durationMs: soundness.durationMs }
  if (rules.rejectCorruptFiles) return verdict
  return {
    outcome: 'skipped',
    message: `Context '${rules.contextKey}' accepts damaged files. This file shows no signs of malicious crafting.`,
    evidence,
  }
}

const toChecksumVerdict = (actual: string, required: string): CheckVerdict => ({
  outcome: 'failed',
  message: `The file's SHA-256 checksum is ${actual}. The upload link accepts only a file with the checksum ${required}.`,
  evidence: { sha256: actual, expected_sha256: required },
})

type SoundnessFinding = NonNullable<Findings['soundness']>
type PolicyEvidence = { encrypted?: true; active_content?: string[] }

function getPolicyEvidence({ verdict }: SoundnessFinding): PolicyEvidence {
  const { encrypted, active_content } = verdict.evidence ?? {}
  return { ...(encrypted === true && { encrypted }), ...(Array.isArray(active_content) && { active_content }) }
}

function findPolicyRejection(
  { encrypted, active_content }: PolicyEvidence,
  rules: ValidationRules,
): { refusal: PolicyRejection; message: string } | undefined {
  const rejects = `Context '${rules.contextKey}' rejects`
  if (rules.rejectEncryptedFiles && encrypted)
    return { refusal: 'encrypted_file', message: `The file, or a part of it, requires a password. ${rejects} encrypted files.` }
  if (rules.rejectActiveContent && active_content)
    return {
      refusal: 'active_content',
      message: `The file contains active content (${active_content.join(', ')}). ${rejects} active content.`,
    }
  return undefined
}

function toReaderVerdict({ verdict, reader, durationMs }: SoundnessFinding, extension: string): CheckVerdict {
  const evidence = { reader, ...verdict.evidence }
  if (!verdict.sound) {
    const trap = verdict.maliciousConstruction
    const type = extension ? `.${extension} file` : 'file'
    const named = trap ? `The file was maliciously crafted (${trap})` : `Not a valid ${type}`
    const message = `${named}: ${verdict.problem.replace(/\.$/, '')}.`
    return { outcome: 'failed', message, evidence: trap ? { ...evidence, trap } : evidence, durationMs }
  }
  const notes = verdict.notes ?? []
  const message = reader ? `The ${reader} reader can open the file` : 'No reader supports this type, so the file was not opened'
  return {
    outcome: 'passed',
    message: `${[message, ...notes].join('; ')}.`,
    evidence: notes.length > 0 ? { ...evidence, notes } : evidence,
    durationMs,
  }
}

const workerFailures: Record<WorkerFailure, string> = {
  died: 'two workers that read it crashed',
  hung: 'two workers did not read it within the deadline',
  out_of_memory: 'two workers that read it exceeded their memory limit',
}

const toFailureVerdict = ({ failure, durationMs }: WorkerFailureResult): CheckVerdict => ({
  outcome: 'failed',
  message: `The file cannot be read safely: ${workerFailures[failure]}.`,
  evidence: { worker: failure, attempts: 2 },
  durationMs,
})

/** Passes if the scanner has scanned the whole file and found no virus. */
const checkForViruses: Check = async (file) => {
  const { rules } = file.submission
  if (!rules.scanForViruses) return { outcome: 'skipped', message: `Context '${rules.contextKey}' does not scan files.` }
  const { engine: identity, verdict, durationMs } = await file.scan()
  const engine = `${identity.name} ${identity.version}`.trim()
  const proof = verdict.provedAt && { scanner_proved_at: verdict.provedAt.toISOString() }
  if (verdict.verdict === 'infected') {
    const { signature } = verdict
    const message = `Virus found by ${engine}: ${signature}.`
    return { outcome: 'failed', message, evidence: { signature, engine, ...proof }, durationMs }
  }
  const unscanned = verdict.verdict === 'clean' ? await findUnscannedPart(file) : undefined
  const cause = verdict.verdict === 'incomplete' ? verdict.reason : unscanned
  if (cause === undefined)
    return { outcome: 'passed', message: `${engine} found no virus.`, evidence: { engines: [engine], ...proof }, durationMs }
  const message = unscanned
    ? `${cause[0]!.toUpperCase()}${cause.slice(1)}.`
    : `${engine} could not scan the whole file: ${cause.replace(/\.$/, '')}.`
  return { outcome: 'incomplete', message, evidence: { cause, engine, ...proof }, durationMs }
}

/** Describes content that no scanner can read: encrypted parts and Brotli files. Returns undefined if there is none. */
async function findUnscannedPart(file: FileChecks): Promise<string | undefined> {
  if (file.extension === 'br') return 'Brotli files are not unpacked, because they have no signature'
  const evidence = await file.evidence()
  return evidence?.encrypted === true ? 'a part of the file is encrypted and cannot be scanned' : undefined
}

/** Maps each block reason to its check. The type ensures that no reason can be added without a check. */
const checks: Record<BlockReason, Check> = {
  invalid_extension: checkExtension,
  size_exceeded: checkSize,
  blank_file: checkBlankness,
  corrupt_file: checkIntegrity,
  virus_detected: checkForViruses,
}

export const orderedChecks: readonly [BlockReason, Check][] = blockReasons.map((reason) => [reason, checks[reason]])
