import type { Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

interface Address {
  host: string
  port: number
}

/** Starts listening. Returns the port, which the system selects if PORT is 0. */
export async function listen(server: Server, address: Address): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(createListenError(error, address)))
    server.listen(address.port, address.host, resolve)
  })
  return (server.address() as AddressInfo).port
}

// A stopped or killed service releases its port after a short delay, which must not fail a restart.
const portTimeoutMs = 2000

export async function assertPortIsFree(address: Address): Promise<void> {
  for (const deadline = Date.now() + portTimeoutMs; ; await sleep(100)) {
    const error = await probePort(address)
    if (error === undefined) return
    if (error.code !== 'EADDRINUSE' || Date.now() > deadline) throw createListenError(error, address)
  }
}

function probePort(address: Address): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen(address.port, address.host, () => server.close(() => resolve(undefined)))
  })
}

function createListenError(error: NodeJS.ErrnoException, { host, port }: Address): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(`PORT ${port} on ${host} is in use. Stop the program that is using it, or set another PORT.`)
  if (error.code === 'EACCES')
    return new Error(`This user is not permitted to use PORT ${port} on ${host}. Set PORT to a value above 1023.`)
  return new Error(
    `The service cannot listen on HOST '${host}' and PORT ${port} (${error.code}). Set HOST to an address of this machine, such as 0.0.0.0.`,
  )
}
