import type { IncomingMessage, ServerResponse } from 'node:http'
import { overloaded, rateLimited } from '../../platform/errors/errors.js'

export interface DownloadLimits {
  /** At once, of one URL and in all: each holds a file, a socket and what was read ahead of its client. */
  byUrl: number
  inAll: number
}

type Guard = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

const usual: DownloadLimits = { byUrl: 32, inAll: 512 }

/** Stands before what serves files: bounds how many are served at once. */
export function guardDownloads({ byUrl, inAll }: DownloadLimits = usual): Guard {
  const served = new Map<string, number>()
  let all = 0
  return (request, response, next) => {
    const url = request.url!
    const same = served.get(url) ?? 0
    if (same >= byUrl)
      throw rateLimited(`This URL is downloaded ${same} times at once, the most there may be; try again in a moment.`, 1)
    if (all >= inAll) throw overloaded(`${all} downloads are under way, the most there may be; try again in a moment.`)
    all++
    served.set(url, same + 1)
    response.once('close', () => {
      all--
      const left = served.get(url)! - 1
      if (left > 0) served.set(url, left)
      else served.delete(url)
    })
    next()
  }
}
