import type { ValidationReport } from '../../inspection/report.js'
import type { Entry } from '../../ledger/entry.js'
import { StaleWriteError } from '../../ledger/rejections.js'
import { AssayError } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { getIdTime, newId } from '../../platform/ids.js'
import type { StoredObjects } from '../../platform/storage/stored-objects.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { QuarantineService } from '../lifecycle/quarantine.service.js'

interface Dependencies {
  objects: StoredObjects
  contexts: Pick<FileContextService, 'find'>
  quarantine: Pick<QuarantineService, 'commitAsQuarantined'>
}

/**
 * Registers an infected object as a quarantined file and returns the file ID. Returns undefined unless `entry` rejects the object
 * because of a virus.
 */
export async function quarantineObject(
  { objects, contexts, quarantine }: Dependencies,
  path: string,
  entry: Entry,
): Promise<string | undefined> {
  const { rejection } = entry
  if (rejection?.reason !== 'virus_detected' || !rejection.checksum) return undefined
  const { actor, originalFilename, sizeBytes, checksum } = rejection
  const report = rejection.validation as ValidationReport
  const context = await contexts.find(actor, rejection.contextKey!)
  if (context?.rulesVersion !== rejection.rulesVersion) throw new StaleWriteError('rules')
  const fileId = newId('file')
  const file = {
    fileId,
    tenantId: actor.tenantId,
    contextId: context.contextId,
    contextKey: context.contextKey,
    originalFilename: originalFilename!,
    contentType: report.detectedContentType ?? 'application/octet-stream',
    sizeBytes: sizeBytes!,
    checksum: checksum.replace(/^sha256:/, ''),
    blobPath: path,
    metadata: {},
    validation: report,
    rulesVersion: context.rulesVersion,
    rulesAt: context.updatedAt,
    createdAt: getIdTime(fileId),
    isAdopted: true,
  }
  await objects.claim(path)
  reachFaultPoint('adoption.claimed')
  try {
    await quarantine.commitAsQuarantined({ ...entry, upload: { actor, file } }, report)
  } catch (error) {
    // Release the object only if the commit was definitely rejected. If its outcome is unknown, a file may already use the
    // object.
    const isRejected = error instanceof StaleWriteError || (error instanceof AssayError && error.code === 'quota_exceeded')
    if (isRejected) await objects.release(path)
    throw error
  }
  return fileId
}
