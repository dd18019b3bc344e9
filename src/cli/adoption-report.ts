import { type FileHandle, open } from 'node:fs/promises'
import type { AdoptionResult } from '../features/adoption/adoption-result.js'
import { writers } from '../features/exports/export-format.js'
import { toSnakeCase } from '../platform/case-conversion.js'
import { UsageError } from './command.js'

const columns = ['path', 'outcome', 'reason', 'message', 'fileId', 'sizeBytes', 'checksum'] as const
const { csv } = writers
const maxRowBytes = 64 * 1024

/** CSV report with one row per object. A resumed run appends to the file. */
export class AdoptionReport {
  readonly #file: FileHandle

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(path: string): Promise<AdoptionReport> {
    const file = await open(path, 'a+', 0o600).catch(({ code }: NodeJS.ErrnoException) => {
      throw new UsageError(`The report file ${path} cannot be written (${code}). Set --report to a writable path.`)
    })
    await removePartialRow(file)
    if ((await file.stat()).size === 0) await file.appendFile(csv.head(columns.map(toSnakeCase)))
    return new AdoptionReport(file)
  }

  /** Writes rows to the file. The rows are durable when the promise resolves. */
  async write(results: readonly AdoptionResult[]): Promise<void> {
    await this.#file.appendFile(
      csv.rows(
        results.map((result) => ({ ...result })),
        columns,
      ),
    )
    await this.#file.datasync()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

/** Removes an incomplete last row, which a killed run may have left behind. */
async function removePartialRow(file: FileHandle): Promise<void> {
  const { size } = await file.stat()
  if (size === 0) return
  const start = Math.max(0, size - maxRowBytes)
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start })
  const end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1
  if (end < bytesRead) await file.truncate(start + end)
}
