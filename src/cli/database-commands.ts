import { checkCluster } from '../platform/db/cluster-check.js'
import { distribute, planDistribution } from '../platform/db/distribute.js'
import { type Command, UsageError } from './command.js'

export const databaseCommands: Record<string, Command> = {
  distribute: {
    usage: 'distribute [--dry-run | --check]',
    options: { 'dry-run': { type: 'boolean' }, check: { type: 'boolean' } },
    run: async ({ database, print }, values) => {
      if (values['dry-run'] && values.check) throw new UsageError('--dry-run and --check cannot be combined. Use one of them.')
      const client = await database.dedicated('assay distribute')
      try {
        if (values.check) return { result: { ...(await checkCluster(client)) } }
        if (values['dry-run']) return { result: { dry_run: true, ...toResult(await planDistribution(client)) } }
        return { result: toResult(await distribute(client, print)) }
      } finally {
        await client.end()
      }
    },
  },
}

const toResult = ({ foreignKeys, ...plan }: Awaited<ReturnType<typeof planDistribution>>) => ({
  ...plan,
  foreign_keys: foreignKeys,
})
