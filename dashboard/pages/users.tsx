import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { Page } from '../components/page.js'
import { ScopeBadges } from '../components/scopes.js'
import { query, updateQuery } from '../router.js'
import { me } from '../session.js'
import { texts } from '../texts.js'
import { UserActions } from './user-actions.js'
import { UserDialog } from './user-dialog.js'
import { type UserRow, usersDocument } from './users-query.js'

const t = texts.users

const columns: Column<UserRow>[] = [
  {
    title: t.name,
    kind: 'wide',
    cell: ({ id, name, email }) => (
      <>
        {name} {id === me.value?.id && <Badge>{t.you}</Badge>}
        <p class="hint">{email}</p>
      </>
    ),
  },
  { title: t.scopes, cell: ({ scopes }) => <ScopeBadges scopes={scopes} /> },
  {
    title: texts.status,
    cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'plain'}>{t.statuses[status]}</Badge>,
  },
  { title: t.factor, kind: 'secondary', cell: ({ hasSecondFactor }) => (hasSecondFactor ? t.factorEnabled : t.factorMissing) },
  { title: texts.actions, kind: 'buttons', cell: (user) => <UserActions user={user} /> },
]

export function Users() {
  const result = useQuery(usersDocument, {})
  const isCreating = query.value.get('new') === '1'
  return (
    <Page
      title={t.title}
      description={t.about}
      actions={
        <Button kind="primary" icon="plus" onClick={() => updateQuery({ new: '1' })}>
          {t.newTitle}
        </Button>
      }
    >
      <List
        query={result}
        items={result.data?.users?.data}
        columns={columns}
        getKey={({ id }) => id}
        caption={t.caption}
        empty={null}
      />
      {isCreating && <UserDialog onClose={() => updateQuery({ new: null }, { replace: true })} />}
    </Page>
  )
}
