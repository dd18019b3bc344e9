import { fileURLToPath } from 'node:url'
import { createClient } from '@assay/client'
import express from 'express'

const assay = createClient({ baseUrl: process.env.ASSAY_URL, apiKey: process.env.ASSAY_KEY })
const app = express()

app.use(express.static(fileURLToPath(new URL('../html', import.meta.url))))

// Authenticate your own user here, before you create a link for them.
app.post('/upload-link', async (_request, response) => {
  const { url } = await assay.createUploadLink({ context: 'photos', max_files: 5, expires_in_seconds: 3600 })
  response.set('Cache-Control', 'no-store').json({ url })
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
