import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { mutate } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { texts } from '../texts.js'

const t = texts.file

const urlDocument = graphql(`mutation PreviewUrl($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl } }`)

// Types that cannot run code in a browser. SVG, HTML and PDF can.
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']
const textTypes = ['text/plain', 'text/csv', 'application/json', 'text/markdown']
const maxImageBytes = 16 * 1024 * 1024
const maxTextBytes = 64 * 1024

interface PreviewableFile {
  id: string
  contentType: string
  sizeBytes: number
}

const isImage = ({ contentType }: PreviewableFile) => imageTypes.includes(contentType)

/** Checks whether a preview is safe, and small enough to load. */
export const isPreviewable = (file: PreviewableFile): boolean =>
  isImage(file) ? file.sizeBytes <= maxImageBytes : textTypes.includes(file.contentType.split(';')[0]!)

/** Preview of a file. Loads only on request, because it counts as a download. */
export function FilePreview({ file }: { file: PreviewableFile }) {
  const preview = useSignal<{ imageUrl?: string; text?: string; hasFailed?: boolean }>({})
  useEffect(() => () => URL.revokeObjectURL(preview.peek().imageUrl ?? ''), [preview])
  const show = async () => {
    preview.value = await fetchPreview(file).catch(() => ({ hasFailed: true }))
  }
  const { imageUrl, text, hasFailed } = preview.value
  return (
    <section class="card">
      <h2>{t.preview}</h2>
      {imageUrl && <img class="preview" src={imageUrl} alt={t.preview} />}
      {text !== undefined && <pre class="preview">{text}</pre>}
      {text !== undefined && file.sizeBytes > maxTextBytes && <p class="hint">{t.previewTruncated}</p>}
      {hasFailed && <p class="notice warn">{t.previewFailed}</p>}
      {!imageUrl && text === undefined && (
        <div class="row">
          <Button onClick={show}>{t.showPreview}</Button>
          <span class="hint">{t.previewAbout}</span>
        </div>
      )}
    </section>
  )
}

async function fetchPreview(file: PreviewableFile) {
  const { data } = await mutate(urlDocument, { id: file.id })
  const { pathname, search } = new URL(data!.createDownloadUrl!.downloadUrl)
  // The content security policy does not allow requests to the bucket.
  if (!pathname.startsWith('/download/')) return { hasFailed: true }
  const init = isImage(file) ? {} : { headers: { Range: `bytes=0-${maxTextBytes - 1}` } }
  const response = await fetch(pathname + search, init)
  if (!response.ok) return { hasFailed: true }
  if (!isImage(file)) return { text: await response.text() }
  return { imageUrl: URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: file.contentType })) }
}
