import type { Command } from './command.js'
import { fileCommands } from './file-commands.js'
import { localCommands } from './local-commands.js'
import { tenantCommands } from './tenant-commands.js'

const { login, ...otherLocalCommands } = localCommands

/** All `assay` commands, in the order of the help text. */
export const commands: Record<string, Command> = { login: login!, ...fileCommands, ...tenantCommands, ...otherLocalCommands }
