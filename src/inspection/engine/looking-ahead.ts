import { type Ahead, FileSource } from '@assay/formats'
import { plainBytes } from '@assay/formats/text'
import { overlapBytes, windowBytes } from '../scanners/yara/limits.js'
import { type EngineSetup, engineFor } from '../scanners/yara/scanning.js'
import { Seen } from '../scanners/yara/script-search.js'
import { findInMacros } from '../scanners/yara/vba.js'
import { findInWindow } from '../scanners/yara/windows.js'
import type { WorkerCall } from '../workers/work.js'

export interface AheadJob {
  path: string
  /** Bytes that are there. */
  written: number
  ahead: Ahead
  setup: EngineSetup
}

let window: Buffer | undefined

/**
 * In a worker: looks at the windows that a scan of the whole file would begin with, one after another, and at their text. It stays before
 * the first in which there is anything to find: that, and the last one, are for the scan of the whole.
 */
export async function lookAhead({ path, written, ahead, setup }: AheadJob, call: WorkerCall): Promise<Ahead> {
  const { find, prove } = await engineFor(setup, call.settings)
  prove()
  const file = new FileSource(path)
  const room = () => (window ??= Buffer.allocUnsafeSlow(windowBytes))
  let { scanned, plain } = ahead
  try {
    for (; scanned + windowBytes < written && !call.cancelled(); scanned += windowBytes - overlapBytes) {
      const bytes = file.readInto(room, scanned, windowBytes)
      const seen = new Seen()
      const place = { first: scanned === 0, last: false }
      if ((findInWindow(bytes, place, seen, find) ?? findInMacros(bytes, find)) !== undefined || seen.parts.size > 0) break
      // Text goes on where that before it has ended.
      if (plain >= scanned && plain - scanned <= overlapBytes) plain += plainBytes(bytes.subarray(plain - scanned))
    }
    return { scanned, plain }
  } finally {
    file.close()
  }
}
