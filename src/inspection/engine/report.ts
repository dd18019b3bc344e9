import { mimeOfExtension } from '@assay/formats'
import type { CheckReport, Refused, Submission, ValidationReport } from '../checks/check.js'
import type { EngineIdentity, VirusScanner } from '../scanners/virus-scanner.js'
import type { OpenFile } from './file-under-test.js'

export async function reportOn(
  file: OpenFile,
  { reports, refused }: { reports: CheckReport[]; refused: Refused | undefined },
  engine: EngineIdentity | null,
): Promise<ValidationReport> {
  const { content, sizeBytes, rules } = file.submission
  return {
    outcome: refused ? 'rejected' : 'accepted',
    reason: refused ?? null,
    checks: reports,
    detectedContentType: (await file.recognisedMime()) ?? mimeOfExtension(file.extension),
    sizeBytes,
    checksum: content && !file.tooLarge ? `sha256:${content.sha256}` : null,
    engine,
    validatedAt: new Date().toISOString(),
    rulesVersion: rules.rulesVersion ?? null,
  }
}

const identityPatienceMs = 1000

/** Who has scanned it or, where an earlier check decided, who would have: a file already refused does not wait for a scanner that is down. */
export async function engineOf(
  submission: Submission,
  scanner: VirusScanner,
  scanned: EngineIdentity | undefined,
): Promise<EngineIdentity | null> {
  if (!submission.rules.scanForViruses) return null
  if (scanned) return scanned
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, identityPatienceMs, null)
  })
  try {
    return await Promise.race([scanner.identity(), patience])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
