import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { ErrorNotice } from '../components/notices.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'
import { useActorNames } from './use-actor-names.js'

const t = texts.contexts

const versionsDocument = graphql(`
  query ContextVersions($key: String!) {
    contextVersions(contextKey: $key, pageSize: 50) {
      data {
        version changedBy changedAt
        rules {
          allowedExtensions maxFileSizeMb rejectBlankFiles rejectCorruptFiles scanForViruses
          policy { retentionDays trashDays rejectEncryptedFiles rejectActiveContent acceptUnscanned rescan }
        }
      }
    }
  }
`)

type Rules = NonNullable<ResultOf<typeof versionsDocument>['contextVersions']>['data'][number]['rules']

/** Lists the versions of a context's rules, newest first, with the changes in each version. */
export function ContextVersions({ contextKey: key }: { contextKey: string }) {
  const result = useQuery(versionsDocument, { key })
  const versions = result.data?.contextVersions?.data ?? []
  const toName = useActorNames()
  return (
    <section class="card">
      <h2>{t.versions}</h2>
      <ErrorNotice error={result.error} />
      <ol class="versions">
        {versions.map(({ version, changedBy, changedAt, rules }, at) => (
          <li key={version}>
            <strong>{t.version(version)}</strong> <Time at={changedAt} />{' '}
            <a class="dim" href="/audit?type=context" title={changedBy}>
              {toName(changedBy)}
            </a>
            <p>{describeChanges(rules, versions[at + 1]?.rules).join('; ') || t.firstVersion}</p>
          </li>
        ))}
      </ol>
    </section>
  )
}

const fieldNames = Object.keys(t.fields) as (keyof typeof t.fields)[]

const toFieldEntries = ({ policy, ...rules }: Rules) =>
  fieldNames.map((name) => [name, formatValue({ ...rules, ...policy }[name])] as const)

const formatValue = (value: unknown) => (Array.isArray(value) ? value.join(', ') : String(value ?? texts.none))

function describeChanges(rules: Rules, previous: Rules | undefined): string[] {
  if (!previous) return []
  const previousValues = new Map<string, string>(toFieldEntries(previous))
  return toFieldEntries(rules)
    .filter(([name, value]) => previousValues.get(name) !== value)
    .map(([name, value]) => `${t.fields[name]}: ${previousValues.get(name)} → ${value}`)
}
