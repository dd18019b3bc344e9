type Result = IteratorResult<Buffer, undefined>

interface Request {
  resolve(result: Result): void
  reject(error: Error): void
}

/** Passes chunks to a second consumer in lockstep, because a chunk is valid only until the next one is requested. */
export class ChunkChannel implements AsyncIterableIterator<Buffer, undefined> {
  #request: Request | undefined
  #end: { error: Error | undefined } | undefined
  #onRequest: () => void = () => {};

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Passes one chunk. Resolves when the consumer requests the next chunk or stops. */
  async sendChunk(chunk: Buffer): Promise<void> {
    await this.#waitForRequest()
    this.#takeRequest()?.resolve({ done: false, value: chunk })
    await this.#waitForRequest()
  }

  /** Ends the iteration, with an error if chunks are missing. */
  close(error?: Error): void {
    this.#end ??= { error }
    const request = this.#takeRequest()
    if (error) request?.reject(error)
    else request?.resolve({ done: true, value: undefined })
    this.#onRequest()
  }

  next(): Promise<Result> {
    if (this.#end?.error) return Promise.reject(this.#end.error)
    if (this.#end) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve, reject) => {
      this.#request = { resolve, reject }
      this.#onRequest()
    })
  }

  async return(): Promise<Result> {
    this.close()
    return { done: true, value: undefined }
  }

  #waitForRequest(): Promise<void> | undefined {
    if (this.#request || this.#end) return undefined
    return new Promise((resolve) => {
      this.#onRequest = resolve
    })
  }

  #takeRequest(): Request | undefined {
    const request = this.#request
    this.#request = undefined
    return request
  }
}
