import { readFile } from 'node:fs/promises'
import { testStorageGuarantees } from '../features/maintenance/storage-guarantees.js'
import { isSweepPaused, pauseSweep, resumeSweep, Sweeper } from '../features/maintenance/sweeper.js'
import { type Command, flag, pickFields, text, UsageError } from './command.js'

export const storageCommands: Record<string, Command> = {
  sweep: {
    usage: 'sweep [--pause | --resume]',
    options: { pause: flag, resume: flag },
    run: async ({ database, services }, { pause, resume }) => {
      if (pause && resume) throw new UsageError('--pause and --resume cannot be combined. Use one of them.')
      if (pause || resume) await (pause ? pauseSweep : resumeSweep)(database.pool)
      const paused = await isSweepPaused(database.pool)
      if (pause || resume) return { result: { paused } }
      if (paused) return { result: { paused }, error: 'The sweep is paused. To continue, run `sweep --resume`.' }
      let firstError = ''
      const saveFirstError = (blob: string, reason: unknown) => {
        firstError ||= ` First error (blob '${blob}'): ${reason instanceof Error ? reason.message : String(reason)}`
      }
      // Remove expired uploads first. Their blobs are then due for deletion, so the following sweep deletes them.
      const uploads = await services.resumableUploads.removeExpiredUploads()
      const { removed, failed } = await new Sweeper(database.pool, services.storage, saveFirstError).sweep()
      const abortedUploads = await services.storage.abortUploads()
      const idempotencyKeys = await services.idempotency.deleteExpiredKeys()
      const sessions = await services.signIns.deleteExpiredSessions()
      return {
        result: { removed, failed, uploads, aborted_uploads: abortedUploads, idempotency_keys: idempotencyKeys, sessions },
        ...(failed > 0 && {
          error: `The store failed to delete ${failed} blobs. The next sweep will retry them.${firstError}`,
        }),
      }
    },
  },

  'storage prove': {
    usage: 'storage prove',
    options: {},
    run: async ({ config, services }) => {
      const guarantees = await testStorageGuarantees(services.storage, config.s3UnconditionalWrites)
      const failed = guarantees.filter(({ result, accepted }) => result === 'fail' && !accepted)
      return {
        result: { storage: services.storage.description, guarantees },
        ...(failed.length > 0 && {
          error: `The store does not meet ${failed.length} of the ${guarantees.length} required guarantees.`,
        }),
      }
    },
  },

  expire: {
    usage: 'expire',
    options: {},
    run: async ({ services }) => {
      const failed: string[] = []
      const { deleted, purged } = await services.expiry.expireFiles({
        onFailed: (context, error) => failed.push(`${context}: ${error instanceof Error ? error.message : String(error)}`),
      })
      return {
        result: { deleted, purged },
        ...(failed.length > 0 && { error: `Some expired files could not be deleted: ${failed.join('; ')}` }),
      }
    },
  },

  verify: {
    usage: 'verify [--deep] [--repair] [--checkpoint FILE]',
    options: { deep: flag, repair: flag, checkpoint: text },
    run: async ({ services }, { deep, repair, checkpoint }) => {
      const logError =
        typeof checkpoint === 'string' ? await services.log.findCheckpointError(await readCheckpoint(checkpoint)) : undefined
      const repaired = repair ? await services.storageHealth.repairCounters() : undefined
      const counts = await services.storageHealth.verify({ readBlobs: deep === true, recomputeHashes: true })
      const fields = ['countersDrift', 'filesWithoutBlob', 'blobsWithoutFile', 'corrupted', 'journalDrift'] as const
      const result = pickFields(counts, fields)
      const response = { ...result, ...(repaired && { repaired: repaired.map(({ tenantId, what }) => `${tenantId}: ${what}`) }) }
      const inconsistencies = Object.entries(result).filter(([, count]) => count !== 0)
      const drift = `Inconsistencies found: ${inconsistencies.map(([what, count]) => `${what} is ${count}`).join(', ')}.`
      const errors = [...(inconsistencies.length > 0 ? [drift] : []), ...(logError === undefined ? [] : [logError])]
      return { result: response, ...(errors.length > 0 && { error: errors.join(' ') }) }
    },
  },
}

const readCheckpoint = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageError(`The checkpoint file ${path} cannot be read (${code}). Set --checkpoint to a readable file.`)
  })
