import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { formatNumber } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { saveFile } from '../api/save-file.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { CopyButton } from '../components/copy-button.js'
import { type Column, List } from '../components/list.js'
import { ErrorNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret-dialog.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'

const t = texts.log

const logDocument = graphql(`
  query Log {
    logCheckpoint { size rootHash checkpoint verifierKey }
    logShares(pageSize: 100) { data { shareId createdAt expiresAt } }
  }
`)
const shareDocument = graphql(`mutation ShareLog { shareLog { token } }`)
const revokeDocument = graphql(`mutation RevokeLogShare($id: ID!) { revokeLogShare(shareId: $id) { shareId } }`)

interface Share {
  shareId: string
  createdAt: string
  expiresAt: string
}

/** Shows the size, root hash and verifier key of the transparency log, and the auditor tokens. */
export function TransparencyLog() {
  const result = useQuery(logDocument, {})
  const error = useSignal<ApiError | undefined>(undefined)
  const token = useSignal<string | undefined>(undefined)
  const shareToRevoke = useSignal<Share | undefined>(undefined)
  const log = result.data?.logCheckpoint
  const shareLog = async () => {
    const { data, error: mutationError } = await mutate(shareDocument, {})
    error.value = mutationError
    token.value = data?.shareLog?.token
    reloadData()
  }
  const revokeShare = async (id: string) => {
    const { error: mutationError } = await mutate(revokeDocument, { id })
    if (!mutationError) reloadData()
    return mutationError
  }
  const columns: Column<Share>[] = [
    { title: t.token, kind: 'wide', cell: ({ shareId }) => <span class="mono">{shareId}</span> },
    { title: t.created, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    { title: t.expires, cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
    {
      title: texts.actions,
      kind: 'buttons',
      cell: (row) => (
        <Button kind="quiet" onClick={() => (shareToRevoke.value = row)}>
          {t.revoke}
        </Button>
      ),
    },
  ]
  return (
    <section class="card">
      <h2>{t.title}</h2>
      <p class="dim">{t.about}</p>
      <ErrorNotice error={error.value} />
      {log && <LogDetails size={log.size} rootHash={log.rootHash} verifierKey={log.verifierKey} />}
      <div class="row">
        {log && (
          <Button icon="download" onClick={() => saveFile(new Blob([log.checkpoint]), `checkpoint-${log.size}.txt`)}>
            {t.downloadCheckpoint}
          </Button>
        )}
        <Button icon="plus" onClick={shareLog}>
          {t.createToken}
        </Button>
      </div>
      <List
        query={result}
        items={result.data?.logShares?.data}
        columns={columns}
        getKey={({ shareId }) => shareId}
        caption={t.caption}
        empty={<p class="hint">{t.noTokens}</p>}
      />
      {token.value && (
        <SecretDialog
          title={t.tokenTitle}
          notice={t.tokenNote}
          secret={token.value}
          closeLabel={t.done}
          onClose={() => (token.value = undefined)}
        />
      )}
      {shareToRevoke.value && (
        <ConfirmDialog
          title={t.revokeTitle}
          warning={t.revokeWarning(shareToRevoke.value.shareId)}
          action={t.revoke}
          onConfirm={() => revokeShare(shareToRevoke.value!.shareId)}
          onClose={() => (shareToRevoke.value = undefined)}
        />
      )}
    </section>
  )
}

const LogDetails = ({ size, rootHash, verifierKey }: { size: number; rootHash: string; verifierKey: string }) => (
  <dl class="facts">
    <dt>{t.size}</dt>
    <dd>{formatNumber(size)}</dd>
    <dt>{t.root}</dt>
    <dd class="mono">{rootHash}</dd>
    <dt>{t.key}</dt>
    <dd class="row">
      <span class="mono">{verifierKey}</span>
      <CopyButton text={verifierKey} />
    </dd>
  </dl>
)
