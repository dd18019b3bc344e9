import { type AddressInfo, createServer, type Server } from 'node:net'
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

// A service that was stopped or killed may hold its port for a short time. Wait this long, so that a restart does not fail.
const portTimeoutMs = 2000

export async function assertPortIsFree(address: Address): Promise<void> {
  for (const deadline = Date.now() + portTimeoutMs; ; await sleep(100))
    try {
      const probe = createServer()
      await listen(probe, address)
      await new Promise((resolve) => probe.close(resolve))
      return
    } catch (error) {
      if (((error as Error).cause as NodeJS.ErrnoException).code !== 'EADDRINUSE' || Date.now() > deadline) throw error
    }
}

function createListenError(cause: NodeJS.ErrnoException, { host, port }: Address): Error {
  const messages: Record<string, string> = {
    EADDRINUSE: `PORT ${port} on ${host} is in use. Stop the program that is using it, or set another PORT.`,
    EACCES: `This user is not permitted to use PORT ${port} on ${host}. Set PORT to a value above 1023.`,
  }
  const other = `The service cannot listen on HOST '${host}' and PORT ${port} (${cause.code}). Set HOST to an address of this machine, such as 0.0.0.0.`
  return new Error(messages[cause.code ?? ''] ?? other, { cause })
}
