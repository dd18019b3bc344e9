import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { ScopeBadges } from '../components/scopes.js'
import { Time } from '../components/time.js'
import { query, setQuery } from '../router.js'
import { texts } from '../texts.js'
import { KeyActions } from './key-actions.js'
import { type KeyRow, keysDocument } from './keys-query.js'
import { NewKeyDialog } from './new-key-dialog.js'

const t = texts.keys

const tones: Record<KeyRow['status'], Tone> = { active: 'good', disabled: 'plain', revoked: 'bad' }
const unusedAfterMs = 90 * 86_400_000

/** Unused keys are highlighted, because each one is an unnecessary risk. */
const isUnused = ({ status, lastUsedAt, createdAt }: KeyRow) =>
  status === 'active' && Date.now() - Date.parse(lastUsedAt ?? createdAt) > unusedAfterMs
const isExpired = ({ expiresAt }: KeyRow) => expiresAt !== null && Date.parse(expiresAt) < Date.now()

const columns: Column<KeyRow>[] = [
  {
    title: t.name,
    kind: 'wide',
    cell: ({ id, name, keyPrefix }) => (
      <>
        <a href={`/calls?key=${id}`} title={t.viewCalls}>
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
  { title: t.expires, kind: 'secondary', cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
  { title: texts.actions, kind: 'buttons', cell: (key) => <KeyActions apiKey={key} /> },
]

export function Keys() {
  const result = useQuery(keysDocument, {})
  const isCreating = query.value.get('new') === '1'
  const newKeyButton = (
    <Button kind="primary" icon="plus" onClick={() => setQuery({ new: '1' })}>
      {t.newTitle}
    </Button>
  )
  return (
    <Page title={t.title} description={t.about} actions={newKeyButton}>
      <List
        query={result}
        items={result.data?.apiKeys?.data}
        columns={columns}
        getKey={({ id }) => id}
        caption={t.caption}
        empty={
          <EmptyState icon="keys" title={t.emptyTitle}>
            <p>{t.empty}</p>
            {newKeyButton}
          </EmptyState>
        }
      />
      {isCreating && <NewKeyDialog onClose={() => setQuery({ new: null }, { replace: true })} />}
    </Page>
  )
}
