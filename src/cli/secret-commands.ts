import { openMasterKey, removeOldMasterKeys, rotateMasterKeyFile } from '../access/master-key.js'
import { reencryptSecrets } from '../access/reencrypt.js'
import { type SigningPurpose, signingPurposes } from '../platform/signing-keys.js'
import { type Command, flag, text, UsageError } from './command.js'

const isSigningPurpose = (value: unknown): value is SigningPurpose => signingPurposes.some((purpose) => purpose === value)

export const secretCommands: Record<string, Command> = {
  'secrets rotate': {
    usage: `secrets rotate --purpose ${signingPurposes.join('|')} [--leaked]`,
    options: { purpose: text, leaked: flag },
    required: ['purpose'],
    run: async ({ services }, values) => {
      const { purpose } = values
      const leaked = values.leaked === true
      if (!isSigningPurpose(purpose))
        throw new UsageError(`--purpose is '${purpose}'. It must be one of ${signingPurposes.join(', ')}.`)
      return { result: { purpose, key_id: await services.identity.signing[purpose].rotate({ leaked }) } }
    },
  },

  'secrets reencrypt': {
    usage: 'secrets reencrypt',
    options: {},
    run: async ({ database, services }) => ({
      result: { reencrypted: await reencryptSecrets(database.pool, services.masterKey) },
    }),
  },

  'secrets renew-master-key': {
    usage: 'secrets renew-master-key',
    options: {},
    run: async ({ config, database }) => {
      if (config.masterKey)
        throw new UsageError(
          'MASTER_KEY is set, so this command cannot replace it. Set MASTER_KEY to the new key and MASTER_KEY_PREVIOUS to the old one. Then restart the service and run: secrets reencrypt.',
        )
      await rotateMasterKeyFile(config.dataDir)
      // The file now contains both keys. If the process is killed after this point, the operator can safely repeat the command.
      const renewed = await openMasterKey({ previous: [...config.previousMasterKeys], dataDir: config.dataDir })
      const reencrypted = await reencryptSecrets(database.pool, renewed)
      await removeOldMasterKeys(config.dataDir)
      return { result: { reencrypted } }
    },
  },
}
