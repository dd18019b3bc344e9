// Runs the same session with @assay/client in Node.js, Bun and Deno, and prints what the service stored.
import process from 'node:process'
import { createClient, isAssayError, uploadTo } from '@assay/client'

const [path] = process.argv.slice(2)
const client = createClient({ baseUrl: process.env.ASSAY_URL, apiKey: process.env.ASSAY_KEY })
const steps = []
const onProgress = ({ sent }) => steps.push(sent)

const fromPath = await client.files.upload(path, { context: 'notes', onProgress })
console.log('path', fromPath.original_filename, await (await client.files.download(fromPath.file_id)).text(), steps.at(-1))

const large = new Blob([new Uint8Array(17 * 1_048_576).fill(120)])
const { url } = await client.createUploadLink({ context: 'notes', max_files: 2 })
const throughLink = await uploadTo(url, large, { filename: 'large.txt', onProgress })
console.log('link', throughLink.size_bytes, steps.at(-1), steps.length > 50)

const stream = new Blob(['from a stream']).stream()
const streamed = await client.files.upload(stream, { context: 'notes', filename: 'stream.txt' })
console.log('stream', streamed.size_bytes)

const abort = new AbortController()
const aborted = uploadTo(url, large, {
  filename: 'a.txt',
  signal: abort.signal,
  onProgress: () => abort.abort(new Error('enough')),
})
console.log('abort', await aborted.catch(({ message }) => message))

try {
  await client.files.upload(new File(['x'], 'a.exe'), { context: 'notes' })
} catch (error) {
  console.log('rejection', isAssayError(error, 'invalid_extension') && error.details.allowed.join())
}
