// Reference server for bench:storage. It hashes and writes a body with fsync, streams a file, and prints its port. Its argument
// is a directory.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'

const [directory] = process.argv.slice(2)
let count = 0

const server = http.createServer(async (request, response) => {
  if (request.method === 'GET') {
    const path = join(directory, request.url)
    response.writeHead(200, { 'Content-Length': (await stat(path)).size })
    return void createReadStream(path).pipe(response)
  }
  const name = `/bare-${++count}`
  const hash = createHash('sha256')
  const file = await open(join(directory, name), 'wx')
  for await (const chunk of request) {
    hash.update(chunk)
    await file.write(chunk)
  }
  await file.sync()
  await file.close()
  response.end(JSON.stringify({ url: name, digest: hash.digest('hex') }))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.on('SIGTERM', () => process.exit(0))
