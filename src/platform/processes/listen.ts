import type { Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

interface Place {
  host: string
  port: number
}

/** Listens, and gives the port (which matters where PORT is 0). */
export async function listen(server: Server, place: Place): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, place)))
    server.listen(place.port, place.host, resolve)
  })
  return (server.address() as AddressInfo).port
}

// A service that was just stopped, or killed, frees its port in a moment: a restart need not fail for that.
const patienceMs = 2000

/** Throws the sentence for a place that cannot be listened on. */
export async function refuseUsedPort(place: Place): Promise<void> {
  for (const until = Date.now() + patienceMs; ; await sleep(100)) {
    const error = await probe(place)
    if (error === undefined) return
    if (error.code !== 'EADDRINUSE' || Date.now() > until) throw listenError(error, place)
  }
}

function probe(place: Place): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen(place.port, place.host, () => server.close(() => resolve(undefined)))
  })
}

function listenError(error: NodeJS.ErrnoException, { host, port }: Place): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(`PORT ${port} on ${host} is in use. Stop the program that uses it, or set another PORT.`)
  if (error.code === 'EACCES')
    return new Error(`This user is not permitted to use PORT ${port} on ${host}. Set a PORT above 1023.`)
  return new Error(
    `The service cannot listen on HOST '${host}' with PORT ${port} (${error.code}). Set HOST to an address of this machine, such as 0.0.0.0.`,
  )
}
