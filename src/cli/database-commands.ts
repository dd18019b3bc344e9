import { runSelfTest } from '../features/files/self-test.js'
import type { Database } from '../platform/db/client.js'
import { checkCluster, distributeDatabase, planDistribution } from '../platform/db/distribute.js'
import { withDedicatedClient } from '../platform/db/queries.js'
import { type Command, flag, UsageError } from './command.js'

export const databaseCommands: Record<string, Command> = {
  distribute: {
    usage: 'distribute [--dry-run | --check]',
    options: { 'dry-run': flag, check: flag },
    run: async ({ database, print }, values) => {
      if (values['dry-run'] && values.check) throw new UsageError('--dry-run and --check cannot be combined. Use one of them.')
      return withDedicatedClient(database, 'assay distribute', async (client) => {
        if (values.check) return { result: { ...(await checkCluster(client)) } }
        if (values['dry-run']) return { result: { dry_run: true, ...toJsonResult(await planDistribution(client)) } }
        const result = toJsonResult(await distributeDatabase(client, print))
        // Test on a new connection, because the current one may have cached plans that became invalid when the tables were
        // distributed.
        const failure = await findSelfTestError(database)
        return { result: { ...result, self_test: failure ?? 'passed' }, ...(failure !== undefined && { error: failure }) }
      })
    },
  },
}

async function findSelfTestError(database: Database): Promise<string | undefined> {
  const client = await database.connectDedicated('assay self-test')
  return runSelfTest(client)
    .then(
      () => undefined,
      (error: Error) => error.message,
    )
    .finally(() => client.end())
}

const toJsonResult = ({ foreignKeys, ...plan }: Awaited<ReturnType<typeof planDistribution>>) => ({
  ...plan,
  foreign_keys: foreignKeys,
})
