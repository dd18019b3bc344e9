import { useSignal } from '@preact/signals'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { Empty } from '../components/notices.js'
import { Page } from '../components/page.js'
import { ScopeBadges } from '../components/scopes.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'
import { KeyActions } from './key-actions.js'
import { type KeyLine, keysDocument } from './keys-query.js'
import { NewKey } from './new-key.js'

const t = texts.keys

const tones: Record<KeyLine['status'], Tone> = { active: 'good', disabled: 'plain', revoked: 'bad' }
const unusedMs = 90 * 86_400_000

/** A key that does nothing is a door that somebody may find. */
const isUnused = ({ status, lastUsedAt, createdAt }: KeyLine) =>
  status === 'active' && Date.now() - Date.parse(lastUsedAt ?? createdAt) > unusedMs
const isExpired = ({ expiresAt }: KeyLine) => expiresAt !== null && Date.parse(expiresAt) < Date.now()

const columns: Column<KeyLine>[] = [
  {
    title: t.name,
    kind: 'wide',
    cell: ({ id, name, keyPrefix }) => (
      <>
        <a href={`/calls?key=${id}`} title={t.calls}>
          {name}
        </a>
        <p class="hint mono">{keyPrefix}…</p>
      </>
    ),
  },
  {
    title: t.scopes,
    cell: ({ scopes, contexts }) => (
      <>
        <ScopeBadges scopes={scopes} />
        {contexts && <p class="hint">{t.onlyIn(contexts)}</p>}
      </>
    ),
  },
  {
    title: texts.status,
    cell: (key) => (
      <span class="row tight">
        <Badge tone={tones[key.status]}>{t.statuses[key.status]}</Badge>
        {isExpired(key) && <Badge tone="bad">{t.expired}</Badge>}
        {isUnused(key) && <Badge tone="warn">{t.unused}</Badge>}
      </span>
    ),
  },
  { title: t.lastUse, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative /> },
  { title: t.expires, kind: 'extra', cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
  { title: texts.actions, kind: 'acts', cell: (key) => <KeyActions of={key} /> },
]

export function Keys() {
  const answer = useQuery(keysDocument, {})
  const isMaking = useSignal(false)
  const make = (
    <Button kind="primary" icon="plus" onClick={() => (isMaking.value = true)}>
      {t.make}
    </Button>
  )
  return (
    <Page title={t.title} about={t.about} actions={make}>
      <List
        answer={answer}
        items={answer.data?.apiKeys?.data}
        columns={columns}
        keyOf={({ id }) => id}
        caption={t.caption}
        empty={
          <Empty icon="keys" title={t.emptyTitle}>
            <p>{t.empty}</p>
            {make}
          </Empty>
        }
      />
      {isMaking.value && <NewKey onClose={() => (isMaking.value = false)} />}
    </Page>
  )
}
