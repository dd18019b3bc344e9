import { adoptCommands } from './adopt-command.js'
import type { Command } from './command.js'
import { databaseCommands } from './database-commands.js'
import { keyCommands } from './key-commands.js'
import { secretCommands } from './secret-commands.js'
import { storageCommands } from './storage-commands.js'
import { tenantCommands } from './tenant-commands.js'
import { userCommands } from './user-commands.js'

/** All `npm run admin` commands. */
export const commands: Readonly<Record<string, Command>> = {
  ...tenantCommands,
  ...userCommands,
  ...keyCommands,
  ...storageCommands,
  ...adoptCommands,
  ...secretCommands,
  ...databaseCommands,
}
