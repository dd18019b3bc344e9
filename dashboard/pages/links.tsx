import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql, type ResultOf, type VariablesOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { query } from '../router.js'
import { texts } from '../texts.js'
import { NewLinkDialog } from './new-link-dialog.js'

const t = texts.links

const linksDocument = graphql(`
  query UploadLinks($status: UploadLinkStatus) {
    uploadLinks(status: $status, pageSize: 100) {
      data { id contextKey status maxFiles acceptedFiles rejectedFiles maxSizeMb allowedExtensions origins expiresAt createdAt }
      pagination { totalItems }
    }
  }
`)
const revokeDocument = graphql(`mutation RevokeUploadLink($id: ID!) { revokeUploadLink(linkId: $id) { id } }`)

type LinkRow = NonNullable<ResultOf<typeof linksDocument>['uploadLinks']>['data'][number]
type Status = VariablesOf<typeof linksDocument>['status']

const tones: Record<LinkRow['status'], Tone> = { active: 'good', used: 'plain', expired: 'plain', revoked: 'bad' }

const columns: Column<LinkRow>[] = [
  {
    title: t.context,
    kind: 'wide',
    cell: ({ id, contextKey, allowedExtensions, maxSizeMb, origins }) => (
      <>
        <a href={`/contexts/${contextKey}`}>{contextKey}</a>
        <p class="hint">{t.limits(allowedExtensions, maxSizeMb)}</p>
        {origins.length > 0 && <p class="hint">{t.onlyFrom(origins)}</p>}
        <p class="hint mono">{id}</p>
      </>
    ),
  },
  { title: texts.status, cell: ({ status }) => <Badge tone={tones[status]}>{t.statuses[status]}</Badge> },
  {
    title: t.files,
    cell: ({ acceptedFiles, maxFiles, rejectedFiles }) => (
      <>
        {t.accepted(acceptedFiles, maxFiles)}
        {rejectedFiles > 0 && <p class="hint">{t.rejected(rejectedFiles)}</p>}
      </>
    ),
  },
  { title: t.expires, cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
  { title: t.created, kind: 'secondary', cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  { title: texts.actions, kind: 'buttons', cell: (link) => <LinkActions link={link} /> },
]

export function Links() {
  const status = query.value.get('status') as Status
  const result = useQuery(linksDocument, { status })
  const isCreating = useSignal(false)
  const links = result.data?.uploadLinks
  return (
    <Page
      title={t.title}
      description={t.about}
      actions={
        <Button kind="primary" icon="plus" onClick={() => (isCreating.value = true)}>
          {t.newTitle}
        </Button>
      }
    >
      <Filters>
        <FilterSelect name="status" label={texts.status} options={[['', texts.all], ...Object.entries(t.statuses)]} />
      </Filters>
      <List
        query={result}
        items={links?.data}
        columns={columns}
        getKey={({ id }) => id}
        caption={t.caption}
        empty={
          <EmptyState icon="link" title={status ? texts.noResultsTitle : t.emptyTitle}>
            <p>{status ? texts.noResultsHint : t.empty}</p>
          </EmptyState>
        }
      />
      {links && links.pagination.totalItems > links.data.length && <p class="hint">{t.more(links.data.length)}</p>}
      {isCreating.value && <NewLinkDialog onClose={() => (isCreating.value = false)} />}
    </Page>
  )
}

function LinkActions({ link: { id, status } }: { link: LinkRow }) {
  const isConfirming = useSignal(false)
  if (status !== 'active') return null
  const revokeLink = async () => {
    const { error } = await mutate(revokeDocument, { id })
    if (!error) reloadData()
    return error
  }
  return (
    <>
      <Button onClick={() => (isConfirming.value = true)}>{t.revoke}</Button>
      {isConfirming.value && (
        <ConfirmDialog
          title={t.revokeTitle}
          warning={t.revokeWarning}
          action={t.revoke}
          onConfirm={revokeLink}
          onClose={() => (isConfirming.value = false)}
        />
      )}
    </>
  )
}
