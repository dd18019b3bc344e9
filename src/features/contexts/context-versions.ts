import { mapPage, newestFirst, type Page, type PageArgs } from '../../api/graphql/page.js'
import type { Database } from '../../platform/db/client.js'
import { numberAt } from '../../platform/ids.js'
import type { FileContext } from './context.types.js'
import { fromStoredRules } from './context-rules.js'
import type { ContextVersion } from './context-version.types.js'

/** The versions of a context's rules, newest first. */
export async function listVersions(
  { prisma }: Pick<Database, 'prisma'>,
  { tenantId, contextId }: FileContext,
  { page, pageSize, after }: PageArgs,
): Promise<Page<ContextVersion>> {
  const place = { page, pageSize, afterId: typeof after === 'string' ? numberAt(after) : undefined }
  const found = await newestFirst(prisma.contextVersion, { key: 'version', where: { tenantId, contextId }, place })
  return mapPage(found, ({ version, changedBy, changedAt, rules }) => {
    return { version, changedBy, changedAt, rules: fromStoredRules(rules as object) }
  })
}
