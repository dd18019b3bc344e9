import pg from 'pg'

const json = { 'content-type': 'application/json' }

/** Files that are deleted, restored, purged, held or expired, with their expected final states. */
export class Lives {
  #run
  #tenant
  #databaseUrl
  #ask
  #requestUntilAnswered
  #expected = []
  counts = { restored: 0, trashed: 0, purged: 0, held: 0, due: 0, expired: 0, retained: 0 }

  /** `ask` and `requestUntilAnswered` are the functions that the other clients use. */
  constructor({ run, tenant, databaseUrl, ask: request, requestUntilAnswered }) {
    this.#run = run
    this.#tenant = tenant
    this.#databaseUrl = databaseUrl
    this.#ask = request
    this.#requestUntilAnswered = requestUntilAnswered
  }

  async runClient() {
    await this.#change('/contexts/notes/policy', 'PATCH', { trash_days: 7 })
    await this.#change('/contexts', 'POST', {
      context_key: 'aging',
      display_name: 'Aging',
      allowed_extensions: ['txt'],
      max_file_size_mb: 1,
      scan_for_viruses: false,
    })
    await this.#change('/contexts/aging/policy', 'PATCH', { retention_days: 1 })
    const fates = Object.keys(this.counts)
    for (let turn = 0; !this.#run.over; turn++) {
      const fate = fates[turn % fates.length]
      const fileId = await this.#upload(fate === 'expired' || fate === 'retained' ? 'aging' : 'notes', `${fate}-${turn}.txt`)
      if (!fileId) continue
      this.#expected.push({ fate, fileId, place: await this[fate](fileId) })
      this.counts[fate]++
    }
  }

  async restored(fileId) {
    await this.#act('DELETE', `/files/${fileId}`)
    await this.#act('POST', `/trash/${fileId}/restore`)
    return 'files'
  }

  /** The trash keeps files for seven days. */
  async trashed(fileId) {
    await this.#act('DELETE', `/files/${fileId}`)
    return 'trash'
  }

  async purged(fileId) {
    await this.#act('DELETE', `/files/${fileId}`)
    await this.#act('DELETE', `/trash/${fileId}`)
    return 'nowhere'
  }

  async held(fileId) {
    await this.#change(`/files/${fileId}/hold`, 'PUT', { reason: 'Chaos' })
    await this.#act('DELETE', `/files/${fileId}`, [409])
    return 'files'
  }

  async due(fileId) {
    await this.#act('DELETE', `/files/${fileId}`)
    await this.#write(`UPDATE trash SET deleted_at = now() - interval '8 days' WHERE tenant_id = $1 AND file_id = $2`, fileId)
    return 'nowhere'
  }

  async expired(fileId) {
    await this.#write(`UPDATE files SET created_at = now() - interval '2 days' WHERE tenant_id = $1 AND file_id = $2`, fileId)
    return 'nowhere'
  }

  async retained(fileId) {
    await this.#change(`/files/${fileId}/hold`, 'PUT', { reason: 'Chaos' })
    await this.expired(fileId)
    return 'files'
  }

  /** Checks the final states after all faults have ended and due work is complete. */
  async verify(client) {
    const { rows } = await client.query(
      `SELECT file_id, 'files' AS place FROM files WHERE tenant_id = $1 UNION ALL SELECT file_id, 'trash' FROM trash WHERE tenant_id = $1`,
      [this.#tenant.id],
    )
    const places = new Map()
    for (const { file_id, place } of rows) places.set(file_id, [...(places.get(file_id) ?? []), place])
    for (const { fate, fileId, place } of this.#expected) {
      const found = places.get(fileId)?.join(' and ') ?? 'nowhere'
      if (found !== place) this.#run.faults.push(`${fileId} (${fate}) is in ${found}, not in ${place}`)
    }
  }

  async #upload(context, name) {
    const response = await this.#requestUntilAnswered(this.#run, (url) => {
      const form = new FormData()
      form.append('context', context)
      form.append('file', new Blob([`text of ${name}`]), name)
      return this.#ask(url, this.#tenant, '/files/upload', {
        method: 'POST',
        body: form,
        headers: { 'Idempotency-Key': `${this.#tenant.id}-${name}` },
      })
    })
    if (response.status === 201) return response.body.data.file_id
    this.#run.faults.push(`an upload returned ${response.status}: ${JSON.stringify(response.body)}`)
    return undefined
  }

  /** A 404 means that an earlier attempt without a response succeeded. */
  #act(method, path, right = [200, 404]) {
    return this.#send(path, { method }, right)
  }

  #change(path, method, body) {
    return this.#send(path, { method, headers: json, body: JSON.stringify(body) }, [200, 201, 409])
  }

  async #send(path, init, right) {
    const { status, body } = await this.#requestUntilAnswered(this.#run, (url) => this.#ask(url, this.#tenant, path, init))
    if (!right.includes(status)) this.#run.faults.push(`${init.method} ${path} returned ${status}: ${JSON.stringify(body)}`)
  }

  /** Changes timestamps in the database and repeats the change until it is confirmed. */
  async #write(statement, fileId) {
    for (;;) {
      const client = new pg.Client({ connectionString: this.#databaseUrl })
      client.on('error', () => {})
      try {
        await client.connect()
        await client.query(statement, [this.#tenant.id, fileId])
        return
      } catch {
        // An injected fault caused the failure.
      } finally {
        await client.end().catch(() => {})
      }
    }
  }
}
