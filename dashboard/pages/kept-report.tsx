import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { FaultNotice, Skeleton } from '../components/notices.js'
import { Report } from '../components/report.js'
import { may } from '../session.js'
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

/** The report that is kept with a file. */
export function KeptReport({ fileId }: { fileId: string }) {
  const { data, fault } = useQuery(reportDocument, { fileId }, { when: may('metadata') })
  const report = data?.fileValidation
  const link = (
    <a href={`/files/${fileId}`} class="row">
      {texts.file.open}
    </a>
  )
  if (!may('metadata')) return null
  if (!report) return fault ? <FaultNotice fault={fault} /> : <Skeleton lines={5} />
  return (
    <>
      <Report checks={report.checks} />
      {link}
    </>
  )
}
