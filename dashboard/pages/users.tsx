import { useSignal } from '@preact/signals'
import { useQuery } from '../api/use-query.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { Page } from '../components/page.js'
import { ScopeBadges } from '../components/scopes.js'
import { me } from '../session.js'
import { texts } from '../texts.js'
import { UserActions } from './user-actions.js'
import { UserDialog } from './user-dialog.js'
import { type UserLine, usersDocument } from './users-query.js'

const t = texts.users

const columns: Column<UserLine>[] = [
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
  { title: t.may, cell: ({ scopes }) => <ScopeBadges scopes={scopes} /> },
  {
    title: texts.status,
    cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'plain'}>{t.statuses[status]}</Badge>,
  },
  { title: t.factor, kind: 'extra', cell: ({ hasSecondFactor }) => (hasSecondFactor ? t.yes : t.no) },
  { title: texts.actions, kind: 'acts', cell: (user) => <UserActions of={user} /> },
]

export function Users() {
  const answer = useQuery(usersDocument, {})
  const isMaking = useSignal(false)
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Button kind="primary" icon="plus" onClick={() => (isMaking.value = true)}>
          {t.invite}
        </Button>
      }
    >
      <List
        answer={answer}
        items={answer.data?.users?.data}
        columns={columns}
        keyOf={({ id }) => id}
        caption={t.caption}
        empty={null}
      />
      {isMaking.value && <UserDialog onClose={() => (isMaking.value = false)} />}
    </Page>
  )
}
