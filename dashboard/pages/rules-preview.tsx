import { useSignal } from '@preact/signals'
import { type ApiError, toApiError } from '../api/api-error.js'
import { client } from '../api/client.js'
import { formatNumber } from '../api/format.js'
import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.contexts

const previewDocument = graphql(`
  query PreviewContext($key: String!, $input: PreviewContextInput!) {
    previewContext(contextKey: $key, input: $input) {
      files wouldBeRejected undecided
      sample { fileId originalFilename message }
    }
  }
`)

type Preview = NonNullable<ResultOf<typeof previewDocument>['previewContext']>

/** Shows how many stored files the unsaved rules would reject. */
export function RulesPreview({
  contextKey: key,
  input,
}: {
  contextKey: string
  input: () => VariablesOf<typeof previewDocument>['input']
}) {
  const preview = useSignal<Preview | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const loadPreview = async () => {
    const { data, error: queryError } = await client
      .query(previewDocument, { key, input: input() }, { requestPolicy: 'network-only' })
      .toPromise()
    error.value = queryError && toApiError(queryError)
    preview.value = data?.previewContext ?? undefined
  }
  return (
    <>
      <Button onClick={loadPreview}>{t.preview}</Button>
      <ErrorNotice error={error.value} />
      {preview.value && <PreviewResult preview={preview.value} />}
    </>
  )
}

const PreviewResult = ({ preview: { files, wouldBeRejected, undecided, sample } }: { preview: Preview }) => (
  <div class={`notice ${wouldBeRejected > 0 ? 'warn' : 'good'} stack preview`} role="status">
    <p>{t.previewSummary(formatNumber(files), formatNumber(wouldBeRejected), undecided && formatNumber(undecided))}</p>
    {sample.length > 0 && (
      <ul>
        {sample.map(({ fileId, originalFilename, message }) => (
          <li key={fileId}>
            <a href={`/files/${fileId}`}>{originalFilename}</a>: {message}
          </li>
        ))}
      </ul>
    )}
  </div>
)
