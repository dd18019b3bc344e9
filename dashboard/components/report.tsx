import type { ApiError } from '../api/api-error.js'
import { hasOnlyBuiltInRules, isBuiltInEngine } from '../scanner.js'
import { texts } from '../texts.js'
import { Icon, type IconName } from './icon.js'

export const checkNames = ['invalid_extension', 'size_exceeded', 'blank_file', 'corrupt_file', 'virus_detected'] as const
export type CheckName = (typeof checkNames)[number]
type Outcome = 'passed' | 'failed' | 'skipped' | 'incomplete' | 'waiting'

export interface CheckResult {
  check: CheckName
  outcome: Outcome
  message?: string | undefined
  durationMs?: number | undefined
}

const icons: Record<Outcome, IconName> = {
  passed: 'check',
  failed: 'cross',
  skipped: 'minus',
  incomplete: 'warning',
  waiting: 'minus',
}

interface Engine {
  name: string
  version: string
  signaturesVersion: string
}

interface ReportProps {
  checks: readonly CheckResult[]
  /** Engine that scanned the file. If undefined, the service's current engine determines the title of the virus check. */
  engine?: Engine | null | undefined
}

/** Returns the title of a check. The title must not suggest an antivirus if only the built-in rules run. */
const getCheckTitle = (check: CheckName, engine: Engine | null | undefined): string => {
  const isBuiltIn = engine ? isBuiltInEngine(engine.name) : hasOnlyBuiltInRules.value
  return check === 'virus_detected' && isBuiltIn ? texts.basicMalwareRules : texts.checks[check]
}

/** Shows the results of the five checks in execution order, and the engine that scanned the file. */
export const Report = ({ checks, engine }: ReportProps) => (
  <>
    <CheckList checks={checks} engine={engine} />
    {engine && <p class="hint">{texts.file.engine(engine.name, engine.version, engine.signaturesVersion)}</p>}
  </>
)

const CheckList = ({ checks, engine }: ReportProps) => (
  <ol class="report">
    {checks.map(({ check, outcome, message, durationMs }, at) => (
      <li key={check} class={outcome} style={{ animationDelay: `${at * 90}ms` }}>
        <span class="outcome-icon">
          <Icon name={icons[outcome]} />
        </span>
        <div>
          <strong>{getCheckTitle(check, engine)}</strong> <span class="outcome">{texts.outcomes[outcome]}</span>
          {message && outcome !== 'waiting' && <p>{message}</p>}
        </div>
        {durationMs !== undefined && outcome !== 'skipped' && <small class="dim">{texts.duration(durationMs)}</small>}
      </li>
    ))}
  </ol>
)

/** Derives the results of all checks from a rejection. The service skipped the checks after the failed one. */
export function toCheckResults({ code, message }: ApiError, context: CheckSettings | undefined): CheckResult[] {
  const failedCheck = checkByErrorCode[code] ?? 'virus_detected'
  const failedIndex = checkNames.indexOf(failedCheck)
  return checkNames.map((check, at) => {
    if (at === failedIndex) return { check, outcome: code === 'SCAN_INCOMPLETE' ? 'incomplete' : 'failed', message }
    return { check, outcome: at > failedIndex || isCheckDisabled(check, context) ? 'skipped' : 'passed' }
  })
}

interface CheckSettings {
  rejectBlankFiles: boolean
  rejectCorruptFiles: boolean
  scanForViruses: boolean
}

const isCheckDisabled = (check: CheckName, context: CheckSettings | undefined): boolean =>
  context !== undefined &&
  ((check === 'blank_file' && !context.rejectBlankFiles) ||
    (check === 'corrupt_file' && !context.rejectCorruptFiles) ||
    (check === 'virus_detected' && !context.scanForViruses))

const checkByErrorCode: Record<string, CheckName> = {
  INVALID_EXTENSION: 'invalid_extension',
  SIZE_EXCEEDED: 'size_exceeded',
  BLANK_FILE: 'blank_file',
  CORRUPT_FILE: 'corrupt_file',
  ENCRYPTED_FILE: 'corrupt_file',
  ACTIVE_CONTENT: 'corrupt_file',
  VIRUS_DETECTED: 'virus_detected',
  SCAN_INCOMPLETE: 'virus_detected',
}

export function Advice({ code }: { code: string }) {
  const advice = texts.advice[code as keyof typeof texts.advice]
  return advice ? (
    <div class="advice">
      <strong>{advice[0]}</strong>
      <p>{advice[1]}</p>
    </div>
  ) : null
}
