import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMultipartBody, RawClient } from './raw-client.js'
import { type ApiResponse, type TestTenant, World } from './world.js'

/** Maximum file size of a context in an `UploadWorld`. */
export const maxUploadMb = 4

/** An application with low upload limits, a tenant that sends raw bytes, and residue checks. */
export class UploadWorld {
  readonly #clients: RawClient[] = []

  private constructor(
    readonly world: World,
    readonly tenant: TestTenant,
  ) {}

  /** Creates two contexts: `notes` accepts text up to 1 MB, `raw` accepts .bin up to 2 MB. */
  static async open(): Promise<UploadWorld> {
    const world = await World.open({ MAX_UPLOAD_MB: String(maxUploadMb), UPLOAD_IDLE_SECONDS: '3', MAX_UPLOADS_AT_ONCE: '128' })
    const tenant = await world.createTenant()
    await tenant.createContext('notes', { max_file_size_mb: 1 })
    await tenant.createContext('raw', { allowed_extensions: ['bin'], max_file_size_mb: 2 })
    return new UploadWorld(world, tenant)
  }

  async connect(): Promise<RawClient> {
    const client = await RawClient.connect(this.world.url)
    this.#clients.push(client)
    return client
  }

  /** Returns whether no temporary file and no upload slot is in use. */
  isQuiet = (): boolean => this.listTemporaryFiles().length === 0 && this.#countTakenSlots() === 0

  /** Disconnects all clients and checks for residue. */
  async disconnectAll(): Promise<boolean> {
    for (const client of this.#clients.splice(0)) client.destroy()
    return waitUntilTrue(this.isQuiet)
  }

  listTemporaryFiles(): string[] {
    const folder = join(this.world.dataDir, 'spool')
    return readdirSync(folder).flatMap((process) => readdirSync(join(folder, process)))
  }

  /** Returns the number of uploads in the call log. */
  async countUploadCalls(): Promise<number> {
    return (await this.#readCallLog()).pagination.total_items
  }

  async getLastUpload(): Promise<{ status: string; error_message: string | null; context_key: string | null }> {
    return (await this.#readCallLog()).data[0]
  }

  /** Sends one REST upload with these parts. */
  send(
    parts: Parameters<typeof createMultipartBody>[0],
    options?: Parameters<typeof createMultipartBody>[1],
  ): Promise<ApiResponse> {
    const { type, body } = createMultipartBody(parts, options)
    return this.sendBytes(body, type)
  }

  sendBytes(body: Uint8Array, type: string): Promise<ApiResponse> {
    return this.tenant.admin.raw(uploadPath, { method: 'POST', headers: { 'content-type': type }, body: body as never })
  }

  close(): Promise<void> {
    return this.world.close()
  }

  #countTakenSlots(): number {
    return this.world.app.slots.inUse
  }

  async #readCallLog() {
    return (await this.tenant.admin.get('/stats/logs?operation=upload&page_size=1')).body.data
  }
}

export const uploadPath = '/api/v1/files/upload'

/** Returns whether the condition holds within half a minute. */
export async function waitUntilTrue(holds: () => boolean): Promise<boolean> {
  for (const end = Date.now() + 30_000; !holds() && Date.now() < end; ) await sleep(10)
  return holds()
}
