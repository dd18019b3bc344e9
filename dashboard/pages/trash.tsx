import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { formatBytes } from '../api/format.js'
import { graphql, type ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { FilterSelect, Filters } from '../components/filters.js'
import { type Column, List } from '../components/list.js'
import { EmptyState, ErrorNotice } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { query } from '../router.js'
import { texts } from '../texts.js'
import { ContextLink } from './context-link.js'
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

type TrashedFile = NonNullable<ResultOf<typeof trashDocument>['trash']>['data'][number]

const fileColumns: Column<TrashedFile>[] = [
  { title: texts.files.name, kind: 'wide', cell: ({ originalFilename }) => originalFilename },
  { title: texts.files.context, cell: ({ contextKey }) => <ContextLink contextKey={contextKey} /> },
  { title: texts.files.size, kind: 'number', cell: ({ sizeBytes }) => formatBytes(sizeBytes) },
  { title: t.deleted, cell: ({ deletedAt }) => <Time at={deletedAt} relative /> },
  { title: t.purgeDate, cell: ({ purgeAt }) => <Time at={purgeAt} /> },
]

type FileHandler = (file: TrashedFile) => unknown

const createActionColumn = (onRestore: FileHandler, onPurge: FileHandler): Column<TrashedFile> => ({
  title: texts.actions,
  kind: 'buttons',
  cell: (file) => (
    <>
      <Button onClick={() => onRestore(file)}>{t.restore}</Button>
      <Button kind="quiet" icon="trash" label={t.purgeFile(file.originalFilename)} onClick={() => onPurge(file)} />
    </>
  ),
})

export function Trash() {
  // The trash does not support cursors, so the cursor parameters in the URL contain page numbers.
  const page = Number(query.value.get('after') ?? query.value.get('before') ?? 1)
  const result = useQuery(trashDocument, { context: query.value.get('context'), page })
  const { list: contexts } = useContexts()
  const fileToPurge = useSignal<TrashedFile | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const reloadOnSuccess = async (work: Promise<{ error?: ApiError | undefined }>) => {
    const { error: mutationError } = await work
    if (!mutationError) reloadData()
    return mutationError
  }
  const restoreFile = async ({ fileId: id }: TrashedFile) => {
    error.value = await reloadOnSuccess(mutate(restoreDocument, { id }))
  }
  const columns = [...fileColumns, createActionColumn(restoreFile, (file) => (fileToPurge.value = file))]
  const trash = result.data?.trash
  const file = fileToPurge.value
  return (
    <Page title={t.title} description={t.about}>
      <Filters>
        <FilterSelect
          name="context"
          label={texts.files.context}
          options={[['', texts.all], ...contexts.map(({ contextKey, displayName }) => [contextKey, displayName] as const)]}
        />
      </Filters>
      <ErrorNotice error={error.value} />
      <List
        query={result}
        items={trash?.data}
        columns={columns}
        getKey={({ fileId }) => fileId}
        caption={t.caption}
        total={trash?.pagination.totalItems}
        pageInfo={
          trash
            ? {
                hasNextPage: trash.pagination.hasNext,
                hasPreviousPage: trash.pagination.hasPrevious,
                startCursor: String(page - 1),
                endCursor: String(page + 1),
              }
            : undefined
        }
        empty={
          <EmptyState icon="trash" title={t.emptyTitle}>
            <p>{t.empty}</p>
          </EmptyState>
        }
      />
      {file && (
        <ConfirmDialog
          title={t.purgeTitle}
          warning={t.purgeWarning(file.originalFilename, formatBytes(file.sizeBytes))}
          action={t.purge}
          onConfirm={() => reloadOnSuccess(mutate(purgeDocument, { id: file.fileId }))}
          onClose={() => {
            fileToPurge.value = undefined
          }}
        />
      )}
    </Page>
  )
}
