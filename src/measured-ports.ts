import type { Metrics } from './metrics.js'
import type { VirusScanner } from './scanner/virus-scanner.js'
import type { BlobStorage } from './storage/blob-storage.js'

/** The scanner, with its times in the metrics. */
export const measuredScanner = (scanner: VirusScanner, metrics: Metrics): VirusScanner => ({
  scan: (content, options) => timed(metrics.scan.startTimer(), scanner.scan(content, options)),
  identity: () => scanner.identity(),
  prove: () => scanner.prove(),
  close: () => scanner.close(),
})

/** What an upload needs of the store, with its times in the metrics. */
export const measuredStorage = (storage: BlobStorage, metrics: Metrics): Pick<BlobStorage, 'put' | 'remove'> => ({
  remove: (path) => timed(metrics.store.startTimer({ operation: 'remove' }), storage.remove(path)),
  put: (path, content, options) => timed(metrics.store.startTimer({ operation: 'put' }), storage.put(path, content, options)),
})

const timed = <T>(stop: () => number, work: Promise<T>): Promise<T> => work.finally(stop)
