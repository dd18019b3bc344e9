import type { Attempt } from '../../access/admission.js'
import type { UploadedFile } from '../../ledger/entry.js'
import type { File } from './file.types.js'

/** What an upload is answered with. */
export const toFile = (file: UploadedFile, actor: Attempt['actor']): File => ({
  fileId: file.fileId,
  originalFilename: file.originalFilename,
  contentType: file.contentType,
  sizeBytes: file.sizeBytes,
  contextKey: file.contextKey,
  checksum: `sha256:${file.checksum}`,
  metadata: file.metadata,
  uploadedBy: actor.id,
  uploadedByName: actor.kind === 'api_key' ? actor.name : null,
  downloadCount: 0,
  lastDownloadedAt: null,
  createdAt: file.createdAt,
  updatedAt: file.createdAt,
  contextId: file.contextId,
  tenantId: file.tenantId,
})

/** The first answer again, where an upload is repeated. The call itself is a new one, about the same file. */
export function revived(attempt: Attempt, response: Record<string, unknown>): File {
  const file = response as unknown as File
  attempt.involve({ fileId: file.fileId })
  return { ...file, createdAt: new Date(file.createdAt), updatedAt: new Date(file.updatedAt) }
}
