import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { number } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { saveFile } from '../api/save-file.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { Copy } from '../components/copy.js'
import { type Column, List } from '../components/list.js'
import { FaultNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret.js'
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

/** The journal as a transparency log: its state, its key, and who else may read it. */
export function Log() {
  const answer = useQuery(logDocument, {})
  const fault = useSignal<Fault | undefined>(undefined)
  const token = useSignal<string | undefined>(undefined)
  const ending = useSignal<Share | undefined>(undefined)
  const log = answer.data?.logCheckpoint
  const share = async () => {
    const { data, fault: refused } = await change(shareDocument, {})
    fault.value = refused
    token.value = data?.shareLog?.token
    forgetLists()
  }
  const revoke = async (id: string) => {
    const { fault: refused } = await change(revokeDocument, { id })
    if (!refused) forgetLists()
    return refused
  }
  const columns: Column<Share>[] = [
    { title: t.share, kind: 'wide', cell: ({ shareId }) => <span class="mono">{shareId}</span> },
    { title: t.made, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    { title: t.expires, cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
    {
      title: texts.actions,
      kind: 'acts',
      cell: (each) => (
        <Button kind="quiet" onClick={() => (ending.value = each)}>
          {t.revoke}
        </Button>
      ),
    },
  ]
  return (
    <section class="card">
      <h2>{t.title}</h2>
      <p class="dim">{t.about}</p>
      <FaultNotice fault={fault.value} />
      {log && (
        <dl class="facts">
          <dt>{t.size}</dt>
          <dd>{number(log.size)}</dd>
          <dt>{t.root}</dt>
          <dd class="mono">{log.rootHash}</dd>
          <dt>{t.key}</dt>
          <dd class="row">
            <span class="mono">{log.verifierKey}</span>
            <Copy text={log.verifierKey} />
          </dd>
        </dl>
      )}
      <div class="row">
        {log && (
          <Button icon="download" onClick={() => saveFile(new Blob([log.checkpoint]), `checkpoint-${log.size}.txt`)}>
            {t.save}
          </Button>
        )}
        <Button icon="plus" onClick={share}>
          {t.shareIt}
        </Button>
      </div>
      <List
        answer={answer}
        items={answer.data?.logShares?.data}
        columns={columns}
        keyOf={({ shareId }) => shareId}
        caption={t.caption}
        empty={<p class="hint">{t.noShares}</p>}
      />
      {token.value && (
        <SecretDialog
          title={t.sharedTitle}
          note={t.sharedNote}
          secret={token.value}
          done={t.done}
          onClose={() => (token.value = undefined)}
        />
      )}
      {ending.value && (
        <Confirm
          title={t.revokeTitle}
          warning={t.revokeWarning(ending.value.shareId)}
          act={t.revoke}
          work={() => revoke(ending.value!.shareId)}
          onClose={() => (ending.value = undefined)}
        />
      )}
    </section>
  )
}
