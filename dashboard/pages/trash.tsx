import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { bytes } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { Confirm } from '../components/confirm.js'
import { FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { Empty, FaultNotice } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { query } from '../router.js'
import { texts } from '../texts.js'
import { useContexts } from './use-contexts.js'

const t = texts.trash

const trashDocument = graphql(`
  query Trash($context: String, $page: Int!) {
    trash(context: $context, page: $page, pageSize: 25) {
      data { fileId originalFilename sizeBytes contextKey deletedAt purgeAt }
      pagination { hasNext hasPrevious totalItems }
    }
  }
`)
const restoreDocument = graphql(`mutation RestoreFile($id: ID!) { restoreFile(fileId: $id) { id } }`)
const purgeDocument = graphql(`mutation PurgeFile($id: ID!) { purgeFile(fileId: $id) { fileId } }`)

type Trashed = NonNullable<ResultOf<typeof trashDocument>['trash']>['data'][number]

/** Deleted files that can be restored. */
export function Trash() {
  // This list has numbers where others have cursors.
  const page = Number(query.value.get('after') ?? query.value.get('before') ?? 1)
  const answer = useQuery(trashDocument, { context: query.value.get('context'), page })
  const { list: contexts } = useContexts()
  const purging = useSignal<Trashed | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  const done = async (work: Promise<{ fault?: Fault | undefined }>) => {
    const { fault: refused } = await work
    if (!refused) forgetLists()
    return refused
  }
  const restore = async ({ fileId: id }: Trashed) => {
    fault.value = await done(change(restoreDocument, { id }))
  }
  const columns: Column<Trashed>[] = [
    { title: texts.files.name, kind: 'wide', cell: ({ originalFilename }) => originalFilename },
    { title: texts.files.context, cell: ({ contextKey }) => <a href={`/contexts/${contextKey}`}>{contextKey}</a> },
    { title: texts.files.size, kind: 'number', cell: ({ sizeBytes }) => bytes(sizeBytes) },
    { title: t.deleted, cell: ({ deletedAt }) => <Time at={deletedAt} relative /> },
    { title: t.purged, cell: ({ purgeAt }) => <Time at={purgeAt} /> },
    {
      title: texts.actions,
      kind: 'acts',
      cell: (file) => (
        <>
          <Button onClick={() => restore(file)}>{t.restore}</Button>
          <Button
            kind="quiet"
            icon="trash"
            label={t.purgeOf(file.originalFilename)}
            onClick={() => {
              purging.value = file
            }}
          />
        </>
      ),
    },
  ]
  const found = answer.data?.trash
  const file = purging.value
  return (
    <Page title={t.title} about={t.about}>
      <Filters>
        <FilterSelect
          name="context"
          label={texts.files.context}
          options={[['', texts.all], ...contexts.map(({ contextKey, displayName }) => [contextKey, displayName] as const)]}
        />
      </Filters>
      <FaultNotice fault={fault.value} />
      <List
        answer={answer}
        items={found?.data}
        columns={columns}
        keyOf={({ fileId }) => fileId}
        caption={t.caption}
        total={found?.pagination.totalItems}
        pageInfo={
          found
            ? {
                hasNextPage: found.pagination.hasNext,
                hasPreviousPage: found.pagination.hasPrevious,
                startCursor: String(page - 1),
                endCursor: String(page + 1),
              }
            : undefined
        }
        empty={
          <Empty icon="trash" title={t.emptyTitle}>
            <p>{t.empty}</p>
          </Empty>
        }
      />
      {file && (
        <Confirm
          title={t.purgeTitle}
          warning={t.purgeWarning(file.originalFilename, bytes(file.sizeBytes))}
          act={t.purge}
          work={() => done(change(purgeDocument, { id: file.fileId }))}
          onClose={() => {
            purging.value = undefined
          }}
        />
      )}
    </Page>
  )
}
