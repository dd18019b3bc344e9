import { readFile } from 'node:fs/promises'
import { isSweepPaused, pauseSweep, resumeSweep } from '../features/maintenance/sweep-pause.js'
import { Sweeper } from '../features/maintenance/sweeper.js'
import { type Command, UsageFault } from './command.js'

export const storageCommands: Record<string, Command> = {
  sweep: {
    usage: 'sweep [--pause | --resume]',
    options: { pause: { type: 'boolean' }, resume: { type: 'boolean' } },
    run: async ({ database, services }, { pause, resume }) => {
      if (pause && resume) throw new UsageFault('--pause and --resume cannot be combined. Use one of them.')
      if (pause || resume) await (pause ? pauseSweep : resumeSweep)(database.pool)
      const paused = await isSweepPaused(database.pool)
      if (pause || resume) return { result: { paused } }
      if (paused) return { result: { paused }, fault: 'The sweep is paused. Run `sweep --resume` to continue it.' }
      let why = ''
      const noteReason = (blob: string, reason: unknown) => {
        why ||= ` The first error, for '${blob}': ${reason instanceof Error ? reason.message : String(reason)}`
      }
      // Their bytes are then due.
      const uploads = await services.resumableUploads.sweep()
      const { removed, failed } = await new Sweeper(database.pool, services.storage, noteReason).sweep()
      const idempotencyKeys = await services.idempotency.sweep()
      const sessions = await services.signIns.sweep()
      return {
        result: { removed, failed, uploads, idempotency_keys: idempotencyKeys, sessions },
        ...(failed > 0 && {
          fault: `The store did not delete ${failed} of the due blobs. The next sweep retries them.${why}`,
        }),
      }
    },
  },

  expire: {
    usage: 'expire',
    options: {},
    run: async ({ services }) => {
      const failed: string[] = []
      const { deleted, purged } = await services.expiry.expire({
        onFailed: (context, error) => failed.push(`${context}: ${error instanceof Error ? error.message : String(error)}`),
      })
      return {
        result: { deleted, purged },
        ...(failed.length > 0 && { fault: `Some due files were not deleted: ${failed.join('; ')}` }),
      }
    },
  },

  verify: {
    usage: 'verify [--deep] [--repair] [--checkpoint FILE]',
    options: { deep: { type: 'boolean' }, repair: { type: 'boolean' }, checkpoint: { type: 'string' } },
    run: async ({ services }, { deep, repair, checkpoint }) => {
      const against = typeof checkpoint === 'string' ? await services.log.faultAgainst(await noteIn(checkpoint)) : undefined
      const repaired = repair ? await services.storageHealth.repairCounters() : undefined
      const counts = await services.storageHealth.verify({ deep: deep === true, whole: true })
      const result = {
        counters_drift: counts.countersDrift,
        files_without_blob: counts.filesWithoutBlob,
        blobs_without_file: counts.blobsWithoutFile,
        corrupted: counts.corrupted,
        journal_drift: counts.journalDrift,
      }
      const told = { ...result, ...(repaired && { repaired: repaired.map(({ tenantId, what }) => `${tenantId}: ${what}`) }) }
      const wrong = Object.entries(result).filter(([, count]) => count > 0)
      const drift = `Inconsistencies found: ${wrong.map(([what, count]) => `${what} is ${count}`).join(', ')}.`
      const faults = [...(wrong.length > 0 ? [drift] : []), ...(against === undefined ? [] : [against])]
      return { result: told, ...(faults.length > 0 && { fault: faults.join(' ') }) }
    },
  },
}

const noteIn = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageFault(`The file ${path} of --checkpoint cannot be read (${code}).`)
  })
