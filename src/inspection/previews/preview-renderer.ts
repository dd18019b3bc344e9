import type { Preview, PreviewRequest } from '@assay/formats/preview'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import { overloaded } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import { WorkerFailed, WorkerNotStarted } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'

const deadlineMs = 10_000
/** Maximum size of a rendered image. Only a compromised decoder could return a larger one. */
const maxImageBytes = 4 * 1024 * 1024

const module = getCompiledModuleUrl('inspection/previews/rendering')

/** Renders previews in sandboxed processes, which can read only the spool. */
export class PreviewRenderer {
  constructor(private readonly pool: WorkerPool) {}

  /** Renders a preview. `owner` is the tenant. If several tenants request previews at the same time, they take turns. */
  async render(
    { path, bytes, size }: Content,
    { owner, ...preview }: PreviewRequest & { owner: string },
    signal: AbortSignal,
  ): Promise<Preview> {
    const data = { ...preview, path, deadlineMs }
    const task = { module, run: 'render', data, bytes, size, owner, inProcess: true, retryHung: false }
    try {
      const result = await this.pool.run<Preview>({ ...task, deadlineMs: deadlineMs + 2_000 }, signal)
      return 'image' in result && !isWebp(result.image) ? { problem: 'the rendered preview is invalid' } : result
    } catch (error) {
      if (error instanceof WorkerNotStarted)
        throw overloaded('Previews cannot be rendered at the moment. Retry later.', error.message)
      if (signal.aborted) throw overloaded('Too many previews are waiting to be rendered. Retry later.')
      if (!(error instanceof WorkerFailed)) throw error
      return { problem: error.failure === 'hung' ? 'rendering takes too long' : 'the renderer crashed or ran out of memory' }
    }
  }
}

function isWebp(image: unknown): boolean {
  if (!(image instanceof Uint8Array) || image.length > maxImageBytes) return false
  const head = Buffer.from(image.buffer, image.byteOffset, Math.min(image.length, 12)).toString('latin1')
  return head.startsWith('RIFF') && head.endsWith('WEBP')
}
