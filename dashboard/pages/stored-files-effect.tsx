import { type ApiError, toApiError, toFieldErrors } from '../api/api-error.js'
import { client } from '../api/client.js'
import { formatNumber } from '../api/format.js'
import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
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
const expiredDocument = graphql(`
  query ExpiredFiles($key: String!, $before: String!) {
    filesConnection(first: 1, context: $key, endDate: $before) { totalCount }
  }
`)

type Input = VariablesOf<typeof previewDocument>['input']

/** Effect of changed rules and policy on a context's stored files. */
export type Effect = NonNullable<ResultOf<typeof previewDocument>['previewContext']> & {
  /** Number of files that are older than the new retention period. */
  expired: number
  retentionDays: number | null
}

const dayMs = 86_400_000

/** Computes the effect of a change on stored files, and validates the input without saving it. */
export async function fetchEffect(
  key: string,
  input: Input,
): Promise<{ effect: Effect; error?: undefined } | { error: ApiError; fieldErrors: Record<string, string> }> {
  const options = { requestPolicy: 'network-only' } as const
  const { data, error } = await client.query(previewDocument, { key, input }, options).toPromise()
  const preview = data?.previewContext
  if (!preview) {
    const failure = toApiError(error)
    const fields = Object.entries(toFieldErrors(failure)).map(([field, message]) => [field.replace(/^policy\./, ''), message])
    return { error: failure, fieldErrors: Object.fromEntries(fields) }
  }
  const retentionDays = input.policy?.retentionDays ?? null
  if (retentionDays === null) return { effect: { ...preview, expired: 0, retentionDays } }
  const before = new Date(Date.now() - retentionDays * dayMs).toISOString()
  const expired = await client.query(expiredDocument, { key, before }, options).toPromise()
  if (!expired.data) return { error: toApiError(expired.error), fieldErrors: {} }
  return { effect: { ...preview, expired: expired.data.filesConnection?.totalCount ?? 0, retentionDays } }
}

export const hasEffect = ({ wouldBeRejected, undecided, expired }: Effect): boolean => wouldBeRejected + undecided + expired > 0

interface Props {
  effect: Effect
  onSave: () => unknown
  onClose: () => void
}

/** Shows the effect on stored files before the user saves the changes. */
export const EffectDialog = ({ effect, onSave, onClose }: Props) => {
  const { files, wouldBeRejected, undecided, sample, expired, retentionDays } = effect
  return (
    <Dialog title={t.effectTitle} onClose={onClose}>
      <div class="body stack">
        {wouldBeRejected + undecided > 0 && (
          <>
            <p class="notice warn">
              {t.previewSummary(formatNumber(files), formatNumber(wouldBeRejected), undecided && formatNumber(undecided))}
            </p>
            <p class="dim">{t.storedFilesStay}</p>
          </>
        )}
        {sample.length > 0 && (
          <ul class="effect-files">
            {sample.map(({ fileId, originalFilename, message }) => (
              <li key={fileId}>
                <strong>{originalFilename}</strong> <span class="dim">{message}</span>
              </li>
            ))}
          </ul>
        )}
        {expired > 0 && <p class="notice bad">{t.expiredSummary(formatNumber(expired), retentionDays ?? 0)}</p>}
      </div>
      <footer>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind={expired > 0 ? 'danger' : 'primary'} onClick={onSave}>
          {t.saveAnyway}
        </Button>
      </footer>
    </Dialog>
  )
}
