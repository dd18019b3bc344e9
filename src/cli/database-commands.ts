import { distribute } from '../platform/db/distribution.js'
import type { Command } from './command.js'

export const databaseCommands: Record<string, Command> = {
  distribute: {
    usage: 'distribute',
    options: {},
    run: async ({ database }) => {
      const client = await database.dedicated('assay distribute')
      try {
        return { result: { ...(await distribute(client)) } }
      } finally {
        await client.end()
      }
    },
  },
}
