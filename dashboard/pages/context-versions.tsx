import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { FaultNotice } from '../components/notices.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'

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

/** How its rules came to be what they are, the latest first. */
export function ContextVersions({ contextKey: key }: { contextKey: string }) {
  const answer = useQuery(versionsDocument, { key })
  const versions = answer.data?.contextVersions?.data ?? []
  return (
    <section class="card">
      <h2>{t.versions}</h2>
      <FaultNotice fault={answer.fault} />
      <ol class="versions">
        {versions.map(({ version, changedBy, changedAt, rules }, at) => (
          <li key={version}>
            <strong>{t.version(version)}</strong> <Time at={changedAt} />{' '}
            <a class="mono dim" href={`/audit?type=context`}>
              {changedBy}
            </a>
            <p>{changesOf(rules, versions[at + 1]?.rules).join('; ') || t.firstVersion}</p>
          </li>
        ))}
      </ol>
    </section>
  )
}

const names = Object.keys(t.fields) as (keyof typeof t.fields)[]

const flat = ({ policy, ...rules }: Rules) => names.map((name) => [name, shown({ ...rules, ...policy }[name])] as const)

const shown = (value: unknown) => (Array.isArray(value) ? value.join(', ') : String(value ?? texts.none))

/** Each field that is not as it was before. */
function changesOf(rules: Rules, before: Rules | undefined): string[] {
  if (!before) return []
  const old = new Map<string, string>(flat(before))
  return flat(rules)
    .filter(([name, value]) => old.get(name) !== value)
    .map(([name, value]) => `${t.fields[name]}: ${old.get(name)} → ${value}`)
}
