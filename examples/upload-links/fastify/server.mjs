import { readFile } from 'node:fs/promises'
import { createClient } from '@assay/client'
import Fastify from 'fastify'

const assay = createClient({ baseUrl: process.env.ASSAY_URL, apiKey: process.env.ASSAY_KEY })
const app = Fastify()

app.get('/', async (_request, reply) => reply.type('text/html').send(await readFile(new URL('../html/index.html', import.meta.url))))

// Authenticate your own user here, before you create a link for them.
app.post('/upload-link', async (_request, reply) => {
  const { url } = await assay.createUploadLink({ context: 'photos', max_files: 5, expires_in_seconds: 3600 })
  return reply.header('Cache-Control', 'no-store').send({ url })
})

console.log(await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' }))
