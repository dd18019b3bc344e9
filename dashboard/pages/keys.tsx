import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { ScopeBadges } from '../components/scopes.js'
import { Time } from '../components/time.js'
import { query, updateQuery } from '../router.js'
import { texts } from '../texts.js'
import { KeyActions } from './key-actions.js'
import { type KeyRow, keysDocument } from './keys-query.js'
import { NewKeyDialog } from './new-key-dialog.js'
import { useActorNames } from './use-actor-names.js'

const t = texts.keys

const tones: Record<KeyRow['status'], Tone> = { active: 'good', disabled: 'plain', revoked: 'bad' }
const unusedAfterMs = 90 * 86_400_000

/** The list highlights unused keys, because each of them is an unnecessary risk. */
const isUnused = ({ status, lastUsedAt, createdAt }: KeyRow) =>
  status === 'active' && Date.now() - Date.parse(lastUsedAt ?? createdAt) > unusedAfterMs
const isExpired = ({ expiresAt }: KeyRow) => expiresAt !== null && Date.parse(expiresAt) < Date.now()

const columns: Column<KeyRow>[] = [
  {
    title: t.name,
    kind: 'wide',
    opensDetails: true,
    cell: ({ name, keyPrefix }) => (
      <>
        {name}
        <span class="hint mono block">{keyPrefix}…</span>
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

const KeyDetails = ({ apiKey }: { apiKey: KeyRow }) => {
  const toName = useActorNames()
  return (
    <>
      <dl class="facts">
        <dt>{texts.status}</dt>
        <dd>
          <Badge tone={tones[apiKey.status]}>{t.statuses[apiKey.status]}</Badge>
        </dd>
        <dt>{t.scopes}</dt>
        <dd>
          <ScopeBadges scopes={apiKey.scopes} />
        </dd>
        <dt>{t.contexts}</dt>
        <dd>{apiKey.contexts ? t.onlyIn(apiKey.contexts) : texts.all}</dd>
        <dt>{t.createdBy}</dt>
        <dd>
          {toName(apiKey.createdBy)} <Time at={apiKey.createdAt} />
        </dd>
        <dt>{t.lastUse}</dt>
        <dd>
          <Time at={apiKey.lastUsedAt} />
        </dd>
        <dt>{t.expires}</dt>
        <dd>
          <Time at={apiKey.expiresAt} />
        </dd>
        <dt>{t.prefix}</dt>
        <dd class="mono">{apiKey.keyPrefix}…</dd>
        <dt>{texts.calls.id}</dt>
        <dd class="mono">{apiKey.id}</dd>
      </dl>
      <p>
        <a href={`/calls?key=${apiKey.id}`}>{t.viewCalls}</a>
      </p>
    </>
  )
}

export function Keys() {
  const result = useQuery(keysDocument, {})
  const isCreating = query.value.get('new') === '1'
  const newKeyButton = (
    <Button kind="primary" icon="plus" onClick={() => updateQuery({ new: '1' })}>
      {t.newTitle}
    </Button>
  )
  return (
    <Page title={t.title} description={t.about} actions={newKeyButton}>
      <List
        query={result}
        items={result.data?.apiKeys?.data}
        columns={columns}
        details={{ title: ({ name }) => name, content: (key) => <KeyDetails apiKey={key} /> }}
        getKey={({ id }) => id}
        caption={t.caption}
        empty={
          <EmptyState icon="keys" title={t.emptyTitle}>
            <p>{t.empty}</p>
            {newKeyButton}
          </EmptyState>
        }
      />
      {isCreating && <NewKeyDialog onClose={() => updateQuery({ new: null }, { replace: true })} />}
    </Page>
  )
}
