import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Submission, ValidationRules } from '../../src/inspection/report.js'
import type { ScanVerdict } from '../../src/inspection/scanners/verdict.js'
import type { EngineIdentity, VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import type { Content } from '../../src/platform/spool/content.js'

const computeSha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const createMemoryContent = (bytes: Buffer): Content => ({
  size: bytes.length,
  sha256: computeSha256(bytes),
  bytes,
  stream: () => Readable.from([bytes]),
})

export async function storeOnDisk(path: string, bytes: Buffer): Promise<Content> {
  await writeFile(path, bytes)
  return { size: bytes.length, sha256: computeSha256(bytes), path, stream: (range) => createReadStream(path, range) }
}

/** Creates a file for the inspector, with its own extension allowed and all checks enabled except the scan. */
export function createSubmission(
  originalFilename: string,
  content: Content | Buffer,
  rules: Partial<ValidationRules> = {},
  signal = new AbortController().signal,
): Submission {
  const complete = Buffer.isBuffer(content) ? createMemoryContent(content) : content
  const extension = originalFilename.slice(originalFilename.lastIndexOf('.') + 1).toLowerCase()
  return {
    originalFilename,
    content: complete,
    sizeBytes: complete.size,
    signal,
    rules: {
      contextKey: 'invoices',
      allowedExtensions: [extension],
      maxFileSizeMb: 10,
      rejectBlankFiles: true,
      rejectCorruptFiles: true,
      scanForViruses: false,
      rejectEncryptedFiles: false,
      rejectActiveContent: false,
      acceptUnscanned: false,
      ...rules,
    },
  }
}

/** A verdict without a relevant proof time, or a failure. */
export type ScriptedVerdict = ScanVerdict | { verdict: 'clean' } | Error

/** A scanner with scripted verdicts. Real scanners are tested separately. */
export class ScriptedScanner implements VirusScanner {
  scanned = 0

  constructor(
    private readonly verdict: ScriptedVerdict,
    private readonly engine: EngineIdentity | Error = {
      name: 'Scripted',
      version: '1.0',
      signaturesVersion: '7',
      signaturesDate: new Date('2026-11-01T00:00:00Z'),
    },
  ) {}

  async scan(): Promise<ScanVerdict> {
    this.scanned++
    if (this.verdict instanceof Error) throw this.verdict
    return { provedAt: new Date('2026-11-21T12:00:00Z'), ...this.verdict }
  }

  async getIdentity(): Promise<EngineIdentity> {
    if (this.engine instanceof Error) throw this.engine
    return this.engine
  }

  async verifyDetection(): Promise<void> {}
  async close(): Promise<void> {}
}
