import { defaultLimits, FileSource, MemorySource } from '@assay/formats'
import { type Preview, type PreviewRequest, renderPreview } from '@assay/formats/preview'
import type { WorkerCall } from '../workers/work.js'

export interface RenderJob extends PreviewRequest {
  /** Path of the file. Undefined if the content is in memory. */
  path: string | undefined
  deadlineMs: number
}

/** Renders a preview in a sandboxed process. */
export async function render({ path, deadlineMs, ...request }: RenderJob, { bytes }: WorkerCall): Promise<Preview> {
  const file = path === undefined ? undefined : new FileSource(path, '')
  try {
    return await renderPreview(file ?? new MemorySource(bytes!), request, defaultLimits(deadlineMs))
  } finally {
    file?.close()
  }
}
