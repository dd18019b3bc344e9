// Reference server on node:http. It hashes a body, writes it to a temporary file (fsync, rename), inserts one row with pg, and
// prints its port. Its arguments are DATABASE_URL and a directory.
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import pg from 'pg'

const [databaseUrl, directory] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 })
await pool.query(
  'CREATE TABLE IF NOT EXISTS bare_files (id text PRIMARY KEY, size bigint, sha256 text, created_at timestamptz DEFAULT now())',
)

async function receiveUpload(request, response) {
  const id = randomUUID()
  const hash = createHash('sha256')
  const temporary = join(directory, `${id}.part`)
  const file = await open(temporary, 'wx')
  let size = 0
  for await (const chunk of request) {
    hash.update(chunk)
    size += chunk.length
    await file.write(chunk)
  }
  await file.sync()
  await file.close()
  await rename(temporary, join(directory, id))
  await pool.query({
    name: 'insert',
    text: 'INSERT INTO bare_files (id, size, sha256) VALUES ($1, $2, $3)',
    values: [id, size, hash.digest('hex')],
  })
  response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id, size }))
}

const responses = {
  POST: receiveUpload,
  async GET(request, response) {
    const [, what, id] = request.url.split('/')
    if (what === 'download') return createReadStream(join(directory, id), { highWaterMark: 512 * 1024 }).pipe(response)
    if (what === 'list') {
      const page = {
        name: 'list',
        text: 'SELECT * FROM bare_files ORDER BY id DESC LIMIT 20 OFFSET $1',
        values: [20 * Number(id)],
      }
      const { rows } = await pool.query(page)
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows))
    }
    const { rows } = await pool.query({ name: 'one', text: 'SELECT * FROM bare_files WHERE id = $1', values: [id] })
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows[0]))
  },
}

const server = http.createServer({ highWaterMark: 256 * 1024 }, (request, response) => {
  responses[request.method](request, response).catch((error) => response.writeHead(500).end(String(error)))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.on('SIGTERM', () => process.exit(0))
