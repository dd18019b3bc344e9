import { computeCrc32c } from './crc32c.js'

export interface StoredObject {
  name: string
  bytes: Buffer
  crc32c: string
  contentType: string
  generation: string
  timeCreated: string
  metadata?: Record<string, string>
}

/** Metadata that the client sends before the bytes. */
export interface ObjectDraft {
  name: string
  contentType?: string
  crc32c?: string
  metadata?: Record<string, string>
}

export class BucketError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

export class Objects {
  readonly #byName = new Map<string, StoredObject>()
  #generation = 1_700_000_000_000_000

  get names(): string[] {
    return [...this.#byName.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  }

  get(name: string): StoredObject {
    const object = this.#byName.get(name)
    if (!object) throw new BucketError(404, `No such object: ${name}`)
    return object
  }

  /** Throws if `ifGenerationMatch` does not match. */
  assertGeneration(name: string, expected: string | null): void {
    if (expected === null) return
    if ((this.#byName.get(name)?.generation ?? '0') !== expected)
      throw new BucketError(412, 'At least one of the pre-conditions you specified did not hold.')
  }

  store(draft: ObjectDraft, bytes: Buffer): StoredObject {
    const sum = computeCrc32c(bytes)
    if (draft.crc32c !== undefined && draft.crc32c !== sum) {
      throw new BucketError(400, `Provided CRC32C "${draft.crc32c}" doesn't match calculated CRC32C "${sum}".`)
    }
    const { name, metadata, contentType = 'application/octet-stream' } = draft
    const object = {
      name,
      bytes,
      crc32c: sum,
      contentType,
      metadata,
      generation: String(++this.#generation),
      timeCreated: new Date().toISOString(),
    }
    this.#byName.set(name, object)
    return object
  }

  remove(name: string): void {
    this.get(name)
    this.#byName.delete(name)
  }

  /** Returns a page of the object list. `startOffset` is inclusive. */
  listPage(query: URLSearchParams): { items: StoredObject[]; nextPageToken?: string } {
    const start = query.get('pageToken') ?? query.get('startOffset') ?? ''
    const size = Number(query.get('maxResults') ?? 1000)
    const from = this.names.filter(
      (name) => name.startsWith(query.get('prefix') ?? '') && Buffer.compare(Buffer.from(name), Buffer.from(start)) >= 0,
    )
    return { items: from.slice(0, size).map((name) => this.get(name)), nextPageToken: from[size] }
  }
}

export const toObjectResource = (object: StoredObject, wrong?: 'wrong-crc32c' | 'wrong-size') => ({
  kind: 'storage#object',
  name: object.name,
  size: String(object.bytes.length + (wrong === 'wrong-size' ? 1 : 0)),
  contentType: object.contentType,
  generation: object.generation,
  timeCreated: object.timeCreated,
  metadata: object.metadata,
  crc32c: wrong === 'wrong-crc32c' ? 'AAAAAA==' : object.crc32c,
})
