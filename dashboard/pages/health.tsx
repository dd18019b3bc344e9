import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { generation } from '../api/client.js'
import { type Fault, faultOf } from '../api/fault.js'
import { number, utc } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { FaultNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { Log } from './log.js'

const t = texts.health

type Condition = { status: 'up' | 'degraded' | 'down' | 'off' } & Record<string, unknown>
interface Ready {
  status: 'ready' | 'not_ready'
  checks: Record<string, Condition>
}

const healthDocument = graphql(
  `query StorageHealth { storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } }`,
)

const everyMs = 10_000

/** What the service stands on. */
export function Health() {
  const ready = useSignal<Ready | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  useEffect(() => {
    const look = async () => {
      try {
        // 503 where something is down: its body says what.
        ready.value = await (await fetch('/health/ready')).json()
        fault.value = undefined
      } catch (error) {
        fault.value = faultOf(error)
      }
    }
    void look()
    const timer = setInterval(() => document.visibilityState === 'visible' && void look(), everyMs)
    return () => clearInterval(timer)
  }, [ready, fault, generation.value])
  return (
    <Page title={t.title} about={t.about}>
      <FaultNotice fault={fault.value} />
      {!ready.value && !fault.value && <Skeleton />}
      {ready.value && (
        <>
          <p class={`notice ${ready.value.status === 'ready' ? 'good' : 'bad'}`} role="status">
            {ready.value.status === 'ready' ? t.ready : t.notReady}
          </p>
          <div class="grid">
            {Object.entries(ready.value.checks).map(([name, condition]) => (
              <Part key={name} name={name} condition={condition} />
            ))}
          </div>
        </>
      )}
      {may('admin') && <StorageComparison />}
      {may('admin') && <Log />}
    </Page>
  )
}

const tones: Record<Condition['status'], Tone> = { up: 'good', degraded: 'warn', down: 'bad', off: 'plain' }

const Part = ({ name, condition: { status, ...facts } }: { name: string; condition: Condition }) => (
  <section class="card">
    <header>
      <h2>{t.names[name as keyof typeof t.names] ?? name}</h2>
      <Badge tone={tones[status]}>{t.statuses[status]}</Badge>
    </header>
    <dl class="facts">
      {Object.entries(facts).map(([fact, value]) => (
        <div key={fact} class="contents">
          <dt>{t.facts[fact as keyof typeof t.facts] ?? fact.replaceAll('_', ' ')}</dt>
          <dd>{factOf(fact, value)}</dd>
        </div>
      ))}
    </dl>
    {name === 'scanner' && status === 'up' && <p class="hint">{t.scannerNote}</p>}
  </section>
)

const factOf = (fact: string, value: unknown): string =>
  value === null ? texts.none : fact.endsWith('_date') ? utc(String(value)) : String(value)

/** It reads every row and asks the store of every blob: on request alone. */
function StorageComparison() {
  const isAsked = useSignal(false)
  const { data, fault, isAsking, again } = useQuery(healthDocument, {}, { when: isAsked.value })
  const found = data?.storageHealth
  return (
    <section class="card">
      <header>
        <h2>{t.storage}</h2>
        <Button isBusy={isAsked.value && isAsking} onClick={() => (isAsked.value ? again() : (isAsked.value = true))}>
          {t.compare}
        </Button>
      </header>
      <p class="dim">{t.storageAbout}</p>
      <FaultNotice fault={fault} />
      {found && (
        <dl class="facts">
          {(Object.keys(t.findings) as (keyof typeof t.findings)[]).map((name) => (
            <div key={name} class="contents">
              <dt>{t.findings[name]}</dt>
              <dd>
                <Badge tone={found[name] === 0 ? 'good' : 'bad'}>{number(found[name])}</Badge>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}
