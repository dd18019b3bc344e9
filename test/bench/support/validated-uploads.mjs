// Alternates the same uploads between a context with all checks enabled and one without checks.
import http from 'node:http'
import { createMultipartForm, getMedian, request, startService } from './service.mjs'

const rounds = 60

/** Prints both medians per format family and the cost of validation. */
export async function compareUploads(files, row) {
  const service = await startService()
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const authorization = { authorization: `Bearer ${service.key}` }
  try {
    for (const on of [true, false]) {
      const context = {
        context_key: on ? 'on' : 'off',
        display_name: 'Bench',
        allowed_extensions: Object.keys(files),
        max_file_size_mb: 1024,
        reject_blank_files: on,
        reject_corrupt_files: on,
        scan_for_viruses: on,
      }
      await request(agent, `${service.url}/api/v1/contexts`, {
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/json' },
        body: [Buffer.from(JSON.stringify(context))],
      })
    }
    row('upload', 'all on ms', 'all off ms', 'adds ms', 'ratio')
    for (const [extension, contents] of Object.entries(files)) {
      const times = { on: [], off: [] }
      for (let round = 0; round < rounds + 10; round++)
        for (const context of ['on', 'off']) {
          const form = createMultipartForm(context, `a.${extension}`, contents[round % contents.length])
          const start = performance.now()
          const { status, text } = await request(agent, `${service.url}/api/v1/files/upload`, {
            method: 'POST',
            headers: { ...authorization, ...form.headers },
            body: form.body,
          })
          if (status !== 201 && status !== 422) throw new Error(`${status}: ${text().slice(0, 200)}`)
          if (round >= 10) times[context].push(performance.now() - start)
        }
      const [on, off] = [getMedian(times.on), getMedian(times.off)]
      row(extension, on.toFixed(2), off.toFixed(2), (on - off).toFixed(2), (on / off).toFixed(2))
    }
  } finally {
    agent.destroy()
    await service.stop()
  }
}
