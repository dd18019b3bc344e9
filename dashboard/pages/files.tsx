import { useSignal } from '@preact/signals'
import { bytes, number } from '../api/format.js'
import type { ResultOf } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Button } from '../components/button.js'
import { type Column, List } from '../components/list.js'
import { Empty } from '../components/notices.js'
import { Page } from '../components/page.js'
import { Time } from '../components/time.js'
import { query, setQuery } from '../router.js'
import { may } from '../session.js'
import { texts } from '../texts.js'
import { DropZone } from './drop-zone.js'
import { FileFilters, fileFilters } from './file-filters.js'
import { SelectFile, type Selection, SelectionBar } from './file-selection.js'
import { filesDocument } from './files-query.js'

const t = texts.files

type FileLine = NonNullable<ResultOf<typeof filesDocument>['filesConnection']>['edges'][number]['node']

const columns: Column<FileLine>[] = [
  { title: t.name, kind: 'wide', cell: ({ id, originalFilename }) => <a href={`/files/${id}`}>{originalFilename}</a> },
  { title: t.context, cell: ({ contextKey }) => <span class="mono">{contextKey}</span> },
  { title: t.size, kind: 'number', cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { title: t.type, kind: 'extra', cell: ({ contentType }) => <span class="dim">{contentType}</span> },
  { title: t.uploader, kind: 'extra', cell: ({ uploader }) => uploader?.name ?? texts.none },
  { title: t.downloads, kind: 'number', cell: ({ downloadCount }) => number(downloadCount) },
  { title: t.uploaded, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
]

/** The tenant's files, and where new ones are dropped. */
export function Files() {
  const answer = useQuery(filesDocument, fileFilters(), { when: may('metadata') })
  const found = answer.data?.filesConnection
  const selection: Selection = useSignal(new Map())
  const select: Column<FileLine> = {
    title: t.selection,
    kind: 'pick',
    cell: (file) => <SelectFile selection={selection} file={file} />,
  }
  return (
    <Page title={t.title} about={t.about}>
      {may('upload') && <DropZone />}
      {may('metadata') && (
        <>
          <FileFilters />
          <SelectionBar selection={selection} />
          <List
            answer={answer}
            items={found?.edges.map(({ node }) => node)}
            columns={may('delete') ? [select, ...columns] : columns}
            keyOf={({ id }) => id}
            caption={t.caption}
            pageInfo={found?.pageInfo}
            total={found?.totalCount}
            empty={<NoFiles />}
          />
        </>
      )}
    </Page>
  )
}

/** In one context that is empty, or of filters that nothing fits. */
function NoFiles() {
  const names = [...query.value.keys()]
  const context = query.value.get('context')
  if (names.some((name) => name !== 'context'))
    return (
      <Empty icon="search" title={t.noneTitle}>
        <p>{t.none}</p>
        <Button onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, null])))}>{t.clearFilters}</Button>
      </Empty>
    )
  const curl = `curl -H "Authorization: Bearer $ASSAY_KEY" -F context=${context ?? 'CONTEXT'} -F file=@FILE ${location.origin}/api/v1/files/upload`
  return (
    <Empty icon="files" title={t.emptyTitle} curl={curl}>
      <p>{t.empty}</p>
    </Empty>
  )
}
