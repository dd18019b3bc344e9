import { useSignal } from '@preact/signals'
import { formatBytes } from '../api/format.js'
import type { ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Thumbnail } from '../components/thumbnail.js'
import { Time } from '../components/time.js'
import { query, updateQuery } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { DropZone } from './drop-zone.js'
import { FileFilters, getFileFilters } from './file-filters.js'
import { SelectAllCheckbox, SelectFileCheckbox, type Selection, SelectionBar } from './file-selection.js'
import { FileStatus } from './file-status.js'
import { filesDocument } from './files-query.js'

const t = texts.files

type FileRow = NonNullable<ResultOf<typeof filesDocument>['filesConnection']>['edges'][number]['node']

const columns: Column<FileRow>[] = [
  {
    title: t.name,
    kind: 'wide',
    sort: { key: 'original_filename', first: 'asc' },
    cell: (file) => (
      <span class="file-name">
        <Thumbnail file={file} />
        <a href={`/files/${file.id}`} title={file.originalFilename}>
          {file.originalFilename}
        </a>
      </span>
    ),
  },
  { title: t.status, cell: (file) => <FileStatus file={file} /> },
  {
    title: t.context,
    cell: ({ contextKey, context }) => <a href={`/contexts/${contextKey}`}>{context?.displayName ?? contextKey}</a>,
  },
  {
    title: t.size,
    kind: 'number',
    sort: { key: 'size_bytes', first: 'desc' },
    cell: ({ sizeBytes }) => formatBytes(sizeBytes),
  },
  {
    title: t.type,
    kind: 'secondary',
    cell: ({ contentType }) => (
      <span class="dim type-name" title={contentType}>
        {contentType}
      </span>
    ),
  },
  { title: t.uploader, kind: 'secondary', cell: ({ uploader }) => uploader?.name ?? texts.none },
  {
    title: t.uploaded,
    sort: { key: 'created_at', first: 'desc', isDefault: true },
    cell: ({ createdAt }) => <Time at={createdAt} relative />,
  },
]

export function Files() {
  const result = useQuery(filesDocument, getFileFilters(), { isEnabled: hasScope('metadata') })
  const connection = result.data?.filesConnection
  const selection: Selection = useSignal(new Map())
  const files = connection?.edges.map(({ node }) => node)
  const selectColumn: Column<FileRow> = {
    title: t.selection,
    kind: 'checkbox-column',
    header: <SelectAllCheckbox selection={selection} files={files ?? []} />,
    cell: (file) => <SelectFileCheckbox selection={selection} file={file} />,
  }
  return (
    <Page title={t.title} description={t.about}>
      {hasScope('upload') && <DropZone />}
      {hasScope('metadata') && (
        <>
          <FileFilters />
          <SelectionBar selection={selection} />
          <List
            query={result}
            items={files}
            columns={hasScope('delete') ? [selectColumn, ...columns] : columns}
            getKey={({ id }) => id}
            caption={t.caption}
            pageInfo={connection?.pageInfo}
            total={connection?.totalCount}
            empty={<NoFiles hasNextPage={connection?.pageInfo.hasNextPage ?? false} />}
          />
        </>
      )}
    </Page>
  )
}

/** Placeholder for an empty file list. If `hasNextPage` is true, the search continues on the next page. */
function NoFiles({ hasNextPage }: { hasNextPage: boolean }) {
  const names = [...query.value.keys()]
  const context = query.value.get('context')
  if (names.some((name) => name !== 'context' && name !== 'sort'))
    return (
      <EmptyState icon="search" title={t.noneTitle}>
        <p>{hasNextPage ? t.noneYetHint : t.noneHint}</p>
        <Button onClick={() => updateQuery(Object.fromEntries(names.map((name) => [name, null])))}>{t.clearFilters}</Button>
      </EmptyState>
    )
  const curl = `curl -H "Authorization: Bearer $ASSAY_KEY" -F context=${context ?? 'CONTEXT'} -F file=@FILE ${location.origin}/api/v1/files/upload`
  return (
    <EmptyState icon="files" title={t.emptyTitle} curl={curl}>
      <p>{t.empty}</p>
    </EmptyState>
  )
}
