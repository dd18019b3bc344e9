import { randomBytes } from 'node:crypto'
import { newId } from '../../platform/ids.js'
import { createMemoryContent } from '../../platform/spool/content.js'
import { BlobExistsError, type BlobStorage } from '../../platform/storage/blob-storage.js'
import { BucketStorage } from '../../platform/storage/bucket/bucket-storage.js'
import { megabyte } from '../../platform/units.js'

/** Test result for one of the store's guarantees. */
export interface GuaranteeResult {
  guarantee: string
  result: 'pass' | 'fail' | 'skipped'
  detail?: string
  /** True if the operator accepts that the store lacks the guarantee. */
  accepted?: boolean
}

const type = { contentType: 'application/octet-stream' }
const urlSeconds = 300

/** Thrown if a guarantee does not apply to the kind of store. */
class NotApplicable extends Error {}

/** Tests the store's guarantees with objects under a temporary prefix, and then deletes these objects. */
export async function testStorageGuarantees(storage: BlobStorage, unconditionalWrites: boolean): Promise<GuaranteeResult[]> {
  const prefix = `assay-proof/${newId('req')}`
  const proof = new StorageGuaranteeTests(storage, prefix)
  const results: GuaranteeResult[] = []
  const runAndRecord = async (guarantee: string, runGuaranteeTest: () => Promise<void>) =>
    results.push({ guarantee, ...(await runTest(runGuaranteeTest)) })
  try {
    await runAndRecord('the store is writable and readable', () => storage.assertReady())
    await runAndRecord('a write never overwrites an object', () => proof.testNoOverwrite())
    if (unconditionalWrites && results.at(-1)!.result === 'fail') results.at(-1)!.accepted = true
    await runAndRecord('content that does not match its checksum is rejected', () => proof.testChecksums())
    await runAndRecord('small objects are returned completely', () => proof.testContent(1000))
    await runAndRecord('large objects, which are sent in parts, are returned completely', () => proof.testContent(17 * megabyte))
    await runAndRecord('a range is returned exactly', () => proof.testRanges())
    await runAndRecord('objects are listed in byte order', () => proof.testListOrder())
    await runAndRecord('a copy is complete', () => proof.testCopy())
    await runAndRecord(`a signed URL returns the object with its file name for ${urlSeconds} s`, () => proof.testSignedUrls())
    await runAndRecord('a deleted object is not found, and can be deleted again', () => proof.testDeletion())
  } finally {
    await proof.cleanUp()
  }
  return results
}

async function runTest(test: () => Promise<void>): Promise<Pick<GuaranteeResult, 'result' | 'detail'>> {
  try {
    await test()
    return { result: 'pass' }
  } catch (error) {
    return {
      result: error instanceof NotApplicable ? 'skipped' : 'fail',
      detail: error instanceof Error ? error.message : String(error),
    }
  }
}

class StorageGuaranteeTests {
  readonly #written = new Set<string>()

  constructor(
    private readonly storage: BlobStorage,
    private readonly prefix: string,
  ) {}

  async testNoOverwrite(): Promise<void> {
    if (this.storage instanceof BucketStorage) {
      const { conditionalWrites } = await this.storage.testGuarantees()
      assert(conditionalWrites !== 'unsupported', 'The store does not support conditional writes.')
      assert(conditionalWrites === 'enforced', 'The store ignores write conditions.')
    }
    const path = await this.#putObject('once', Buffer.from('first'))
    const second = await this.storage.put(path, createMemoryContent(Buffer.from('second')), type).catch((error) => error)
    assert(second instanceof BlobExistsError, 'A second write to the same path was accepted.')
    assert((await this.#readObject(path)).toString() === 'first', 'The object was overwritten.')
  }

  async testChecksums(): Promise<void> {
    if (!(this.storage instanceof BucketStorage)) throw new NotApplicable('The local store does not verify checksums.')
    const { checksums } = await this.storage.testGuarantees()
    assert(checksums === 'enforced', 'The store accepted content with an incorrect checksum.')
  }

  async testContent(size: number): Promise<void> {
    const bytes = randomBytes(size)
    const path = await this.#putObject(`content-${size}`, bytes)
    assert((await this.storage.getSize(path)) === size, 'The stored size differs.')
    assert((await this.#readObject(path)).equals(bytes), 'The stored content differs.')
  }

  async testRanges(): Promise<void> {
    const bytes = randomBytes(100)
    const path = await this.#putObject('range', bytes)
    assert(
      (await this.#readObject(path, { start: 10, end: 19 })).equals(bytes.subarray(10, 20)),
      'Bytes 10 to 19 of the stored content differ.',
    )
  }

  async testListOrder(): Promise<void> {
    const paths: string[] = []
    for (const name of ['list/a0', 'list/a', 'list/a-1']) paths.push(await this.#putObject(name, Buffer.from(name)))
    const listed: string[] = []
    for await (const { path } of this.storage.list(`${this.prefix}/list/`)) {
      if (!path.startsWith(`${this.prefix}/list/`)) break
      listed.push(path)
    }
    paths.sort()
    assert(
      listed.join() === paths.join(),
      `The list contains ${listed.length} of ${paths.length} objects, or lists them in a different order.`,
    )
  }

  async testCopy(): Promise<void> {
    const bytes = randomBytes(1000)
    const path = await this.#putObject('source', bytes)
    const copy = this.#registerPath('copy')
    await this.storage.copy(path, copy)
    assert((await this.#readObject(copy)).equals(bytes), 'The content of the copy differs.')
  }

  async testSignedUrls(): Promise<void> {
    if (this.storage.kind === 'local') throw new NotApplicable('Download URLs point to the service.')
    const path = await this.#putObject('signed', Buffer.from('signed'))
    const file = { tenantId: '', fileId: '', by: '', filename: 'a file.txt', contentType: 'text/plain' }
    const url = await this.storage.signDownload({ ...file, path, expiresInSeconds: urlSeconds })
    const lifetime = /[?&]X-(?:Amz|Goog)-Expires=(\d+)/.exec(url)?.[1]
    assert(lifetime === String(urlSeconds), `The URL is valid for ${lifetime ?? 'an unknown number of'} seconds.`)
    const response = await fetch(url, { signal: AbortSignal.timeout(30_000) })
    const text = await response.text()
    assert(response.ok && text === 'signed', `The request to the URL returned status ${response.status}.`)
    const disposition = response.headers.get('content-disposition') ?? ''
    assert(disposition.includes('a file.txt'), `Content-Disposition is '${disposition}'.`)
  }

  async testDeletion(): Promise<void> {
    const path = await this.#putObject('deleted', Buffer.from('deleted'))
    await this.storage.remove(path)
    await this.storage.remove(path)
    assert((await this.storage.getSize(path)) === null, 'The object still exists.')
  }

  async cleanUp(): Promise<void> {
    for (const path of this.#written) await this.storage.remove(path).catch(() => {})
  }

  async #putObject(name: string, bytes: Buffer): Promise<string> {
    const path = this.#registerPath(name)
    await this.storage.put(path, createMemoryContent(bytes), type)
    return path
  }

  #registerPath(name: string): string {
    const path = `${this.prefix}/${name}`
    this.#written.add(path)
    return path
  }

  async #readObject(path: string, range?: { start: number; end: number }): Promise<Buffer> {
    return Buffer.concat(await (await this.storage.open(path, range)).toArray())
  }
}

function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message)
}
