import { change, forgetLists } from '../api/client.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
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

type SessionLine = NonNullable<ResultOf<typeof sessionsDocument>['mySessions']>['data'][number]

const columns: Column<SessionLine>[] = [
  {
    title: t.agent,
    kind: 'wide',
    cell: ({ userAgent, isCurrent }) => (
      <>
        {userAgent || texts.none} {isCurrent && <Badge tone="good">{t.here}</Badge>}
      </>
    ),
  },
  { title: t.address, cell: ({ ipAddress }) => ipAddress },
  { title: t.since, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  { title: t.until, kind: 'extra', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  { title: texts.actions, kind: 'acts', cell: (session) => (session.isCurrent ? null : <End id={session.sessionId} />) },
]

function End({ id }: { id: string }) {
  const end = async () => {
    await change(endDocument, { id })
    forgetLists()
  }
  return (
    <Button kind="quiet" onClick={end}>
      {t.end}
    </Button>
  )
}

/** One's own: password, second factor, sessions. */
export function Account() {
  const answer = useQuery(sessionsDocument, {})
  const who = me.value
  if (!who) return null
  return (
    <Page title={t.title}>
      <section class="card">
        <h2>{t.you}</h2>
        <dl class="facts">
          <dt>{texts.users.name}</dt>
          <dd>{who.name}</dd>
          <dt>{texts.users.email}</dt>
          <dd>{who.email}</dd>
          <dt>{texts.users.may}</dt>
          <dd>
            <ScopeBadges scopes={who.scopes} />
          </dd>
        </dl>
      </section>
      <div class="grid">
        <PasswordForm />
        <SecondFactor />
      </div>
      <h2>{t.sessions}</h2>
      <List
        answer={answer}
        items={answer.data?.mySessions?.data}
        columns={columns}
        keyOf={({ id }) => id}
        caption={t.sessionsCaption}
        empty={null}
      />
    </Page>
  )
}
