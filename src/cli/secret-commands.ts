import { announce } from '../auth/identity-listener.js'
import { forgetOldMasterKeys, openMasterKey, renewMasterKeyFile } from '../auth/master-key.js'
import { reencryptSigningKeys } from '../auth/signing-secrets.js'
import { type Command, type Means, UsageFault } from './command.js'

const purposes = ['download_url', 'session', 'pepper'] as const
type Purpose = (typeof purposes)[number]

export const secretCommands: Record<string, Command> = {
  'secrets rotate': {
    usage: 'secrets rotate --purpose download_url|session|pepper [--leaked]',
    options: { purpose: { type: 'string' }, leaked: { type: 'boolean' } },
    required: ['purpose'],
    run: async (means, given) => {
      const purpose = given.purpose as Purpose
      const leaked = given.leaked === true
      if (!purposes.includes(purpose))
        throw new UsageFault(`--purpose is '${purpose}'; it must be one of ${purposes.join(', ')}.`)
      if (purpose !== 'pepper')
        return { result: { purpose, key_id: await means.services.identity.signing[purpose].rotate({ leaked }) } }
      if (leaked)
        throw new UsageFault(
          'A pepper cannot be ended at once: every API key would end with it. Rotate it without --leaked; keys move to the new one as they are used.',
        )
      return { result: { purpose, ...(await rotatePepper(means)) } }
    },
  },

  'secrets reencrypt': {
    usage: 'secrets reencrypt',
    options: {},
    run: async ({ database, services }) => ({
      result: { reencrypted: await reencryptSigningKeys(database.pool, services.masterKey) },
    }),
  },

  'secrets renew-master-key': {
    usage: 'secrets renew-master-key',
    options: {},
    run: async ({ config, database }) => {
      if (config.masterKey)
        throw new UsageFault(
          'MASTER_KEY is set, so that it is yours to renew: put the new key into MASTER_KEY and the old one into MASTER_KEY_PREVIOUS, restart, and run: secrets reencrypt.',
        )
      await renewMasterKeyFile(config.dataDir)
      // Killed from here on, both keys are in the file, and the command can be run again.
      const renewed = await openMasterKey({ previous: [...config.previousMasterKeys], dataDir: config.dataDir })
      const reencrypted = await reencryptSigningKeys(database.pool, renewed)
      await forgetOldMasterKeys(config.dataDir)
      return { result: { reencrypted } }
    },
  },
}

/** A new pepper for what is hashed from now on, and the end of those that no key's hash is under any more. */
async function rotatePepper({ database, services }: Means): Promise<{ key_id: string; dropped: number }> {
  const { peppers } = services.identity
  const keyId = await peppers.rotate()
  const { rows } = await database.pool.query<{ id: string }>(
    `SELECT pepper_id AS id FROM api_keys
     UNION SELECT previous_pepper_id FROM api_keys WHERE previous_pepper_id IS NOT NULL`,
  )
  const dropped = await peppers.dropUnused(rows.map(({ id }) => id))
  if (dropped > 0) await announce(database.pool, 'signing_key', keyId)
  return { key_id: keyId, dropped }
}
