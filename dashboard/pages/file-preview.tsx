import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { formatNumber } from '../api/format.js'
import { fetchPreview, type Preview } from '../api/preview.js'
import { Button } from '../components/button.js'
import { Skeleton } from '../components/notices.js'
import { texts } from '../texts.js'
import { getPreviewKind } from './file-kind.js'
import { MediaPreview } from './media-preview.js'
import { TablePreview } from './table-preview.js'

const t = texts.file

interface Props {
  file: { id: string; originalFilename: string; contentType: string }
}

/**
 * Previews a file without showing its original bytes in the browser. The service renders images and PDFs, and returns the
 * beginning of a text file.
 */
export function FilePreview({ file }: Props) {
  const kind = getPreviewKind(file.contentType)
  return (
    <section class="card preview-card">
      <h2>{t.preview}</h2>
      {kind === 'audio' || kind === 'video' ? (
        <MediaPreview file={file} kind={kind} />
      ) : (
        <RenderedPreview file={file} isTable={kind === 'table'} />
      )}
    </section>
  )
}

/** `page` is the number of the loaded page, which stays visible while the next page loads. */
type State = ((Preview | { problem: string }) & { page: number }) | undefined

function RenderedPreview({ file: { id, originalFilename }, isTable }: Props & { isTable: boolean }) {
  const page = useSignal(1)
  const state = useSignal<State>(undefined)
  useEffect(() => {
    let isCurrent = true
    let imageUrl = ''
    const requested = page.value
    fetchPreview(id, 'large', requested)
      .catch((error: Error) => ({ problem: error.message || t.previewFailed }))
      .then((result) => {
        if ('imageUrl' in result) imageUrl = result.imageUrl
        if (isCurrent) state.value = { ...result, page: requested }
        else URL.revokeObjectURL(imageUrl)
      })
    return () => {
      isCurrent = false
      URL.revokeObjectURL(imageUrl)
    }
  }, [id, page.value])
  const result = state.value
  if (!result) return <Skeleton lines={4} />
  if ('problem' in result) return <p class="notice">{result.problem}</p>
  if ('text' in result) return <TextPreview {...result} isTable={isTable} />
  return (
    <>
      <div class="preview-frame" aria-busy={result.page !== page.value}>
        <img
          src={result.imageUrl}
          alt={result.pageCount > 1 ? t.previewOfPage(originalFilename, result.page) : t.previewOf(originalFilename)}
        />
      </div>
      {result.pageCount > 1 && <PagePicker page={page} pageCount={result.pageCount} />}
    </>
  )
}

const PagePicker = ({ page, pageCount }: { page: { value: number }; pageCount: number }) => (
  <nav class="row page-picker" aria-label={t.pages}>
    <Button icon="back" label={texts.previousPage} disabled={page.value <= 1} onClick={() => page.value--} />
    <span role="status">{t.pageOf(formatNumber(page.value), formatNumber(pageCount))}</span>
    <Button
      icon="next"
      label={texts.nextPage}
      disabled={page.value >= Math.min(pageCount, maxPage)}
      onClick={() => page.value++}
    />
  </nav>
)

/** Highest page number that the service renders. */
const maxPage = 1000

const TextPreview = ({ text, isTruncated, isTable }: { text: string; isTruncated: boolean; isTable: boolean }) => (
  <>
    {isTable ? (
      <TablePreview text={text} isTruncated={isTruncated} />
    ) : (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll the text.
      <pre class="preview" tabIndex={0}>
        {text}
      </pre>
    )}
    {isTruncated && <p class="hint">{t.previewTruncated}</p>}
  </>
)
