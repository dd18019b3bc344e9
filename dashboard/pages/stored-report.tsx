import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { ErrorNotice, Skeleton } from '../components/notices.js'
import { Report } from '../components/report.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'

const reportDocument = graphql(`
  query Report($fileId: ID!) {
    fileValidation(fileId: $fileId) {
      outcome validatedAt detectedContentType
      engine { name version signaturesVersion signaturesDate }
      checks { check outcome message durationMs }
    }
  }
`)

export function StoredReport({ fileId }: { fileId: string }) {
  const { data, error } = useQuery(reportDocument, { fileId }, { isEnabled: hasScope('metadata') })
  const report = data?.fileValidation
  const link = (
    <a href={`/files/${fileId}`} class="row">
      {texts.file.open}
    </a>
  )
  if (!hasScope('metadata')) return null
  if (!report) return error ? <ErrorNotice error={error} /> : <Skeleton lines={5} />
  return (
    <>
      <Report checks={report.checks} engine={report.engine} />
      {link}
    </>
  )
}
