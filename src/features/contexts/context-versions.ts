import { type Page, type PageArgs, pageOf, rowsOf } from '../../api/graphql/page.js'
import { numberAt } from '../../platform/cursors.js'
import type { Database } from '../../platform/db/client.js'
import type { FileContext } from './context.types.js'
import { rulesOfKept } from './context-rules.js'
import type { ContextVersion } from './context-version.types.js'

/** The versions of a context's rules, newest first. */
export async function versionsOf(
  { prisma }: Pick<Database, 'prisma'>,
  { tenantId, contextId }: FileContext,
  { page, pageSize, after }: PageArgs,
): Promise<Page<ContextVersion>> {
  const place = { page, pageSize, afterId: after ?? undefined }
  const where = { tenantId, contextId }
  const older = typeof after === 'string' ? { version: { lt: numberAt(after) } } : {}
  const [rows, total] = await Promise.all([
    prisma.contextVersion.findMany({ where: { ...where, ...older }, orderBy: { version: 'desc' }, ...rowsOf(place) }),
    prisma.contextVersion.count({ where }),
  ])
  const versions = rows.map(({ version, changedBy, changedAt, rules }) => ({
    version,
    changedBy,
    changedAt,
    rules: rulesOfKept(rules as object),
  }))
  return pageOf(versions, total, place)
}
