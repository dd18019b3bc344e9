import { createHash } from 'node:crypto'
import { toCanonicalJson } from '@assay/proofs'
import { FieldResolver, ID, Resolver, Root } from 'type-graphql'
import type { ValidationReport } from '../../inspection/report.js'
import { ValidationReportType } from './validation.types.js'

@Resolver(() => ValidationReportType)
export class ValidationReportResolver {
  @FieldResolver(() => ID, {
    description: 'Unique identifier of the report, derived from its content. Client caches use it as the key.',
  })
  id(@Root() report: ValidationReport): string {
    return createHash('sha256').update(toCanonicalJson(report)).digest('hex')
  }
}
