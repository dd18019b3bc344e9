import { rmSync } from 'node:fs'

export default async function tearDown() {
  const { folder, server } = globalThis.assayTestDatabase
  await (await server)?.stop()
  rmSync(folder, { recursive: true, force: true })
}
