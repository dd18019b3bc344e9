/** Record of an interrupted upload in `localStorage`. It does not contain the link's token. */
interface UnfinishedUpload {
  uploadId: string
  name: string
  size: number
  lastModified: number
}

type Fingerprint = Pick<File, 'name' | 'size' | 'lastModified'>

const maxRecords = 100

/** Stores the unfinished uploads of one link in `localStorage`, so that they can be resumed after a page reload. */
export class UnfinishedUploads {
  readonly #key: string

  /** Stores the records under a key that contains the link's ID, but not its secret. */
  constructor(linkUrl: string) {
    const token = linkUrl.split('/').at(-1) ?? ''
    this.#key = `assay-uploader:${token.split('_').slice(0, 3).join('_')}`
  }

  listRecords(): UnfinishedUpload[] {
    try {
      const records = JSON.parse(localStorage.getItem(this.#key) ?? '[]')
      return Array.isArray(records) ? records.filter(isUnfinishedUpload) : []
    } catch {
      return []
    }
  }

  findUploadId(file: Fingerprint): string | undefined {
    return this.listRecords().find((record) => isSameFile(record, file))?.uploadId
  }

  addRecord({ name, size, lastModified }: Fingerprint, uploadId: string): void {
    const others = this.listRecords().filter((record) => !isSameFile(record, { name, size, lastModified }))
    this.#writeRecords([...others, { uploadId, name, size, lastModified }].slice(-maxRecords))
  }

  removeRecord(file: Fingerprint): void {
    this.#writeRecords(this.listRecords().filter((record) => !isSameFile(record, file)))
  }

  #writeRecords(records: UnfinishedUpload[]): void {
    try {
      if (records.length > 0) localStorage.setItem(this.#key, JSON.stringify(records))
      else localStorage.removeItem(this.#key)
    } catch {
      // `localStorage` can be unavailable or full.
    }
  }
}

const isSameFile = (a: Fingerprint, b: Fingerprint) => a.name === b.name && a.size === b.size && a.lastModified === b.lastModified

const isUnfinishedUpload = (value: unknown): value is UnfinishedUpload => {
  const { uploadId, name, size, lastModified } = (value ?? {}) as UnfinishedUpload
  return /^upl_\w+$/.test(uploadId) && typeof name === 'string' && Number.isFinite(size) && Number.isFinite(lastModified)
}
