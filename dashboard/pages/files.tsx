import { useSignal } from '@preact/signals'
import { formatBytes, formatNumber } from '../api/format.js'
import type { ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { EmptyState } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { query, setQuery } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { DropZone } from './drop-zone.js'
import { FileFilters, getFileFilters } from './file-filters.js'
import { SelectFileCheckbox, type Selection, SelectionBar } from './file-selection.js'
import { filesDocument } from './files-query.js'

const t = texts.files

type FileRow = NonNullable<ResultOf<typeof filesDocument>['filesConnection']>['edges'][number]['node']

const columns: Column<FileRow>[] = [
  { title: t.name, kind: 'wide', cell: ({ id, originalFilename }) => <a href={`/files/${id}`}>{originalFilename}</a> },
  { title: t.context, cell: ({ contextKey }) => <span class="mono">{contextKey}</span> },
  { title: t.size, kind: 'number', cell: ({ sizeBytes }) => formatBytes(sizeBytes) },
  { title: t.type, kind: 'secondary', cell: ({ contentType }) => <span class="dim">{contentType}</span> },
  { title: t.uploader, kind: 'secondary', cell: ({ uploader }) => uploader?.name ?? texts.none },
  { title: t.downloads, kind: 'number', cell: ({ downloadCount }) => formatNumber(downloadCount) },
  { title: t.uploaded, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
]

export function Files() {
  const result = useQuery(filesDocument, getFileFilters(), { isEnabled: hasScope('metadata') })
  const connection = result.data?.filesConnection
  const selection: Selection = useSignal(new Map())
  const selectColumn: Column<FileRow> = {
    title: t.selection,
    kind: 'checkbox-column',
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
            items={connection?.edges.map(({ node }) => node)}
            columns={hasScope('delete') ? [selectColumn, ...columns] : columns}
            getKey={({ id }) => id}
            caption={t.caption}
            pageInfo={connection?.pageInfo}
            total={connection?.totalCount}
            empty={<NoFiles />}
          />
        </>
      )}
    </Page>
  )
}

/** Distinguishes filters without results from a tenant or context without files. */
function NoFiles() {
  const names = [...query.value.keys()]
  const context = query.value.get('context')
  if (names.some((name) => name !== 'context'))
    return (
      <EmptyState icon="search" title={t.noneTitle}>
        <p>{t.noneHint}</p>
        <Button onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, null])))}>{t.clearFilters}</Button>
      </EmptyState>
    )
  const curl = `curl -H "Authorization: Bearer $ASSAY_KEY" -F context=${context ?? 'CONTEXT'} -F file=@FILE ${location.origin}/api/v1/files/upload`
  return (
    <EmptyState icon="files" title={t.emptyTitle} curl={curl}>
      <p>{t.empty}</p>
    </EmptyState>
  )
}
