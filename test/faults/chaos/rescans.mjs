// Rescans during chaos: replicas load new YARA rules when they restart and are killed while they scan. Afterwards, infected files
// must be quarantined and clean files available. A file must not be scanned twice with the same signatures, and a restored file
// must not be served before its scan.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const roundMs = 6_000
// Interrupted attempts wait at most two minutes, and a lease ends after 30 seconds.
const finishMs = 300_000
// YARA scans files above 64 KiB in a sandboxed process.
const sizes = [100, 200_000]
const fates = ['clean', 'infected', 'trashed']

/** Creates the rules directory of all replicas in `folder`. */
export function openRules(folder) {
  const rules = join(folder, 'rules')
  mkdirSync(rules)
  writeRule(rules, 0)
  return rules
}

const getVirusText = (round) => `virus of round ${round};`

/** Replaces the file atomically because replicas may start at the same time. */
function writeRule(rules, round) {
  const temporary = join(rules, `round-${round}.new`)
  writeFileSync(temporary, `rule round_${round} { strings: $a = "${getVirusText(round)}" condition: $a }\n`)
  renameSync(temporary, join(rules, `round-${round}.yar`))
}

export class Rescans {
  counts = { rounds: 0, clean: 0, infected: 0, trashed: 0 }
  #run
  #tenant
  #rules
  #ask
  #requestUntilAnswered
  #files = []

  constructor({ run, tenant, rules, ask: request, requestUntilAnswered }) {
    this.#run = run
    this.#tenant = tenant
    this.#rules = rules
    this.#ask = request
    this.#requestUntilAnswered = requestUntilAnswered
  }

  /** Until the run ends, uploads files that match the next round's rules. */
  async runClient() {
    await this.#send('/contexts/notes/policy', 'PATCH', { trash_days: 7 })
    let roundEnds = performance.now() + roundMs
    for (let turn = 0; !this.#run.over; turn++) {
      if (performance.now() > roundEnds) {
        writeRule(this.#rules, ++this.counts.rounds)
        roundEnds = performance.now() + roundMs
      }
      const fate = fates[turn % fates.length]
      const fileId = await this.#upload(`${fate}-${turn}.txt`, fate, sizes[turn % sizes.length])
      if (!fileId) continue
      if (fate === 'trashed') await this.#send(`/files/${fileId}`, 'DELETE')
      this.#files.push({ fate, fileId })
      this.counts[fate]++
      await sleep(200)
    }
  }

  /** Restarts replicas with the last rules and waits until all rescans end. */
  async finish(databaseUrl) {
    writeRule(this.#rules, ++this.counts.rounds)
    for (const replica of this.#run.replicas) await replica.kill()
    for (const { fate, fileId } of this.#files) {
      if (fate !== 'trashed') continue
      await this.#send(`/trash/${fileId}/restore`, 'POST')
      await this.#expect(fileId, 403, 'was restored and is not scanned')
    }
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const isBusy = async () => {
      const { rows } = await client.query(
        `SELECT (SELECT count(*) FROM rescans WHERE finished_at IS NULL OR signatures <> s.latest)::int + (SELECT count(*) FROM rescan_queue)::int AS left
         FROM (SELECT value->-1->>'signatures' AS latest FROM service_state WHERE key = 'rescan') s`,
      )
      return rows[0]?.left !== 0 || !(await this.#isRescanned())
    }
    const until = performance.now() + finishMs
    while (await isBusy()) {
      if (performance.now() > until) {
        const { rows } = await client.query('SELECT * FROM rescan_queue LIMIT 5')
        this.#run.faults.push(`the rescans do not end; still waiting: ${JSON.stringify(rows)}`)
        break
      }
      await sleep(500)
    }
    await client.end()
  }

  async verify(client) {
    for (const { fate, fileId } of this.#files) await this.#expect(fileId, fate === 'clean' ? 200 : 403, `is ${fate}`)
    const twice = await client.query(
      `SELECT file_id FROM validation_reports WHERE tenant_id = $1 AND NOT report @> '{"checks": [{"evidence": {"scan_failed": true}}]}'
       GROUP BY file_id, report->'engine'->>'signaturesVersion' HAVING count(*) > 1`,
      [this.#tenant.id],
    )
    for (const { file_id } of twice.rows) this.#run.faults.push(`${file_id} was scanned twice with the same signatures`)
  }

  /** The newest rescan must use the last rules, which replicas detect shortly after their start. */
  async #isRescanned() {
    const { body } = await this.#requestUntilAnswered(this.#run, (url) => this.#ask(url, this.#tenant, '/contexts/notes/rescan'))
    // The version of the built-in scanner ends with the number of rules.
    const rules = Number(/\((\d+) rules\)$/.exec(body.data.signatures ?? '')?.[1])
    this.#expectedRules ??= await this.#loadedRules()
    return rules === this.#expectedRules
  }

  #expectedRules

  async #loadedRules() {
    for (;;) {
      const url = this.#run.replicas[0].url
      const response = await fetch(`${url}/health/ready`).then(
        (response) => response.json(),
        () => undefined,
      )
      const version = response?.checks.scanner?.signatures_version
      if (version) return Number(/\((\d+) rules\)$/.exec(version)[1])
      await sleep(500)
    }
  }

  async #expect(fileId, status, why) {
    const response = await this.#requestUntilAnswered(this.#run, (url) => this.#ask(url, this.#tenant, `/files/${fileId}`))
    if (response.status !== status) this.#run.faults.push(`${fileId} ${why}, and is answered with ${response.status}`)
  }

  async #upload(name, fate, size) {
    const text = `${name} ${fate === 'clean' ? 'a note' : getVirusText(this.counts.rounds + 1)} `.padEnd(size, 'words ')
    const response = await this.#requestUntilAnswered(this.#run, (url) => {
      const form = new FormData()
      form.append('context', 'notes')
      form.append('file', new Blob([text]), name)
      const headers = { 'Idempotency-Key': `${this.#tenant.id}-${name}` }
      return this.#ask(url, this.#tenant, '/files/upload', { method: 'POST', body: form, headers })
    })
    if (response.status === 201) return response.body.data.file_id
    this.#run.faults.push(`an upload returned ${response.status}: ${JSON.stringify(response.body)}`)
    return undefined
  }

  /** A 404 means that an earlier attempt without a response succeeded. */
  async #send(path, method, body) {
    const headers = { 'content-type': 'application/json' }
    const response = await this.#requestUntilAnswered(this.#run, (url) =>
      this.#ask(url, this.#tenant, path, { method, ...(body && { headers, body: JSON.stringify(body) }) }),
    )
    if (response.status !== 200 && response.status !== 404)
      this.#run.faults.push(`${method} ${path} returned ${response.status}: ${JSON.stringify(response.body)}`)
  }
}
