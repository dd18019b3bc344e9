import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { change } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { texts } from '../texts.js'

const t = texts.file

const urlDocument = graphql(`mutation PreviewUrl($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl } }`)

// What a browser shows without running anything in it: no SVG, no HTML, no PDF.
const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']
const writings = ['text/plain', 'text/csv', 'application/json', 'text/markdown']
const mostPictureBytes = 16 * 1024 * 1024
const mostTextBytes = 64 * 1024

interface Previewed {
  id: string
  contentType: string
  sizeBytes: number
}

const isPicture = ({ contentType }: Previewed) => pictures.includes(contentType)

/** Only what is safe to show, and small. */
export const isPreviewable = (file: Previewed): boolean =>
  isPicture(file) ? file.sizeBytes <= mostPictureBytes : writings.includes(file.contentType.split(';')[0]!)

/** On request alone: it fetches the file. */
export function Preview({ file }: { file: Previewed }) {
  const shown = useSignal<{ picture?: string; text?: string; isAtFault?: boolean }>({})
  useEffect(() => () => URL.revokeObjectURL(shown.peek().picture ?? ''), [shown])
  const show = async () => {
    shown.value = await fetchPreview(file).catch(() => ({ isAtFault: true }))
  }
  const { picture, text, isAtFault } = shown.value
  return (
    <section class="card">
      <h2>{t.preview}</h2>
      {picture && <img class="preview" src={picture} alt={t.preview} />}
      {text !== undefined && <pre class="preview">{text}</pre>}
      {text !== undefined && file.sizeBytes > mostTextBytes && <p class="hint">{t.cut}</p>}
      {isAtFault && <p class="notice warn">{t.noPreview}</p>}
      {!picture && text === undefined && (
        <div class="row">
          <Button onClick={show}>{t.showPreview}</Button>
          <span class="hint">{t.previewAbout}</span>
        </div>
      )}
    </section>
  )
}

async function fetchPreview(file: Previewed) {
  const { data } = await change(urlDocument, { id: file.id })
  const { pathname, search } = new URL(data!.createDownloadUrl!.downloadUrl)
  // A bucket's URL leads elsewhere, which this page may not fetch from.
  if (!pathname.startsWith('/download/')) return { isAtFault: true }
  const init = isPicture(file) ? {} : { headers: { Range: `bytes=0-${mostTextBytes - 1}` } }
  const response = await fetch(pathname + search, init)
  if (!response.ok) return { isAtFault: true }
  if (!isPicture(file)) return { text: await response.text() }
  return { picture: URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: file.contentType })) }
}
