import { numberAt } from '../cursors.js'
import type { Database } from '../db/client.js'
import { type Page, type PageArgs, pageOf, rowsOf } from '../graphql/page.js'
import { rulesOfKept } from './context-rules.js'
import type { ContextVersion } from './context-version.type.js'
import type { FileContext } from './file-context.type.js'

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
