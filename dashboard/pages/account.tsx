import { mutate, reloadData } from '../api/client.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { describeUserAgent } from '../api/user-agent.js'
import { Badge } from '../components/badge.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { Page } from '../components/page.js'
import { ScopeBadges } from '../components/scopes.js'
import { Time } from '../components/time.js'
import { me } from '../session.js'
import { texts } from '../texts.js'
import { PasswordForm } from './password-form.js'
import { SecondFactor } from './second-factor.js'

const t = texts.account

const sessionsDocument = graphql(`
  query MySessions { mySessions(pageSize: 100) { data { id sessionId isCurrent createdAt expiresAt ipAddress userAgent } } }
`)
const endDocument = graphql(`mutation EndMySession($id: ID!) { endMySession(sessionId: $id) }`)

type SessionRow = NonNullable<ResultOf<typeof sessionsDocument>['mySessions']>['data'][number]

const columns: Column<SessionRow>[] = [
  {
    title: t.browser,
    kind: 'wide',
    cell: ({ userAgent, isCurrent }) => (
      <>
        <span title={userAgent}>{describeUserAgent(userAgent) || texts.none}</span>{' '}
        {isCurrent && <Badge tone="good">{t.thisSession}</Badge>}
      </>
    ),
  },
  { title: t.ipAddress, cell: ({ ipAddress }) => ipAddress },
  { title: t.signedInAt, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  { title: t.expiresAt, kind: 'secondary', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    title: texts.actions,
    kind: 'buttons',
    cell: (session) => (session.isCurrent ? null : <EndSessionButton id={session.sessionId} />),
  },
]

function EndSessionButton({ id }: { id: string }) {
  const endSession = async () => {
    await mutate(endDocument, { id })
    reloadData()
  }
  return (
    <Button kind="quiet" onClick={endSession}>
      {t.endSession}
    </Button>
  )
}

export function Account() {
  const result = useQuery(sessionsDocument, {})
  const user = me.value
  if (!user) return null
  return (
    <Page title={t.title}>
      <section class="card">
        <h2>{t.profile}</h2>
        <dl class="facts">
          <dt>{texts.users.name}</dt>
          <dd>{user.name}</dd>
          <dt>{texts.users.email}</dt>
          <dd>{user.email}</dd>
          <dt>{texts.users.scopes}</dt>
          <dd>
            <ScopeBadges scopes={user.scopes} />
          </dd>
        </dl>
      </section>
      <div class="grid">
        <PasswordForm />
        <SecondFactor />
      </div>
      <h2>{t.sessions}</h2>
      <List
        query={result}
        items={result.data?.mySessions?.data}
        columns={columns}
        getKey={({ id }) => id}
        caption={t.sessionsCaption}
        empty={null}
      />
    </Page>
  )
}
