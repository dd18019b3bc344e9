import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type ApiError, toApiError } from '../api/api-error.js'
import { reloadCount } from '../api/client.js'
import { formatNumber, formatUtc } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { CodeLine, ErrorNotice, Skeleton } from '../components/notices.js'
import { Page } from '../components/page.js'
import { isBuiltInEngine } from '../scanner.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'

const t = texts.health

type ComponentStatus = { status: 'up' | 'degraded' | 'down' | 'off' } & Record<string, unknown>
interface Readiness {
  status: 'ready' | 'not_ready'
  checks: Record<string, ComponentStatus>
}

const healthDocument = graphql(
  `query StorageHealth { storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } }`,
)

const pollIntervalMs = 10_000

export function Health() {
  const readiness = useSignal<Readiness | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  useEffect(() => {
    const loadReadiness = async () => {
      try {
        // A 503 response means that a component is down. Its body still contains the status of each component.
        readiness.value = await (await fetch('/health/ready')).json()
        error.value = undefined
      } catch (cause) {
        error.value = toApiError(cause)
      }
    }
    void loadReadiness()
    const timer = setInterval(() => document.visibilityState === 'visible' && void loadReadiness(), pollIntervalMs)
    return () => clearInterval(timer)
  }, [readiness, error, reloadCount.value])
  return (
    <Page title={t.title} description={t.about}>
      <ErrorNotice error={error.value} />
      {!readiness.value && !error.value && <Skeleton />}
      {readiness.value && (
        <>
          <p class={`notice ${readiness.value.status === 'ready' ? 'good' : 'bad'}`} role="status">
            {readiness.value.status === 'ready' ? t.ready : t.notReady}
          </p>
          {isBuiltInEngine(String(readiness.value.checks.scanner?.engine)) && <ConnectScanner />}
          <div class="grid">
            {Object.entries(readiness.value.checks).map(([name, condition]) => (
              <ComponentCard key={name} name={name} condition={condition} />
            ))}
          </div>
        </>
      )}
      {hasScope('admin') && <ConsistencyCheck />}
    </Page>
  )
}

const tones: Record<ComponentStatus['status'], Tone> = { up: 'good', degraded: 'warn', down: 'bad', off: 'plain' }

const ComponentCard = ({ name, condition: { status, ...facts } }: { name: string; condition: ComponentStatus }) => (
  <section class="card">
    <header>
      <h2>{getComponentTitle(name, facts.engine)}</h2>
      <Badge tone={tones[status]}>{t.statuses[status]}</Badge>
    </header>
    <dl class="facts">
      {Object.entries(facts).map(([fact, value]) => (
        <div key={fact} class="contents">
          <dt>{t.facts[fact as keyof typeof t.facts] ?? fact.replaceAll('_', ' ')}</dt>
          <dd>{formatFact(fact, value)}</dd>
        </div>
      ))}
    </dl>
    {name === 'scanner' && status === 'up' && <p class="hint">{t.scannerNote}</p>}
  </section>
)

const getComponentTitle = (name: string, engine: unknown): string =>
  name === 'scanner' && isBuiltInEngine(String(engine))
    ? texts.basicMalwareRules
    : (t.components[name as keyof typeof t.components] ?? name)

/** Instructions for operators who connect an antivirus. */
const ConnectScanner = () => (
  <section class="card" id="antivirus">
    <h2>{texts.connectScanner}</h2>
    <p>{t.builtInRules}</p>
    <CodeLine text="SCANNER_URL=clamd://localhost:3310" />
    <p class="dim">
      {t.connectScanner} <span class="mono">docs/operations.md#clamd</span>
    </p>
  </section>
)

const formatFact = (fact: string, value: unknown): string =>
  value === null ? texts.none : fact.endsWith('_date') ? formatUtc(String(value)) : String(value)

/** The consistency check runs only on request, because it reads every row and checks every blob. */
function ConsistencyCheck() {
  const isRequested = useSignal(false)
  const { data, error, isRefreshing, reload } = useQuery(healthDocument, {}, { isEnabled: isRequested.value })
  const counts = data?.storageHealth
  return (
    <section class="card">
      <header>
        <h2>{t.consistency}</h2>
        <Button
          isBusy={isRequested.value && isRefreshing}
          onClick={() => (isRequested.value ? reload() : (isRequested.value = true))}
        >
          {t.checkConsistency}
        </Button>
      </header>
      <p class="dim">{t.consistencyAbout}</p>
      <ErrorNotice error={error} />
      {counts && (
        <dl class="facts">
          {(Object.keys(t.findings) as (keyof typeof t.findings)[]).map((name) => (
            <div key={name} class="contents">
              <dt>{t.findings[name]}</dt>
              <dd>
                <Badge tone={counts[name] === 0 ? 'good' : 'bad'}>{formatNumber(counts[name])}</Badge>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}
