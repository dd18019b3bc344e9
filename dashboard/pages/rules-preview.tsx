import { useSignal } from '@preact/signals'
import { client } from '../api/client.js'
import { type Fault, faultOf } from '../api/fault.js'
import { number } from '../api/format.js'
import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { FaultNotice } from '../components/notices.js'
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

/** Before rules are saved: what they would have meant for the files that are there. */
export function RulesPreview({
  contextKey: key,
  input,
}: {
  contextKey: string
  input: () => VariablesOf<typeof previewDocument>['input']
}) {
  const seen = useSignal<Preview | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  const ask = async () => {
    const { data, error } = await client
      .query(previewDocument, { key, input: input() }, { requestPolicy: 'network-only' })
      .toPromise()
    fault.value = error && faultOf(error)
    seen.value = data?.previewContext ?? undefined
  }
  return (
    <>
      <Button onClick={ask}>{t.preview}</Button>
      <FaultNotice fault={fault.value} />
      {seen.value && <Seen preview={seen.value} />}
    </>
  )
}

const Seen = ({ preview: { files, wouldBeRejected, undecided, sample } }: { preview: Preview }) => (
  <div class={`notice ${wouldBeRejected > 0 ? 'warn' : 'good'} stack preview`} role="status">
    <p>{t.previewed(number(files), number(wouldBeRejected), undecided && number(undecided))}</p>
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
