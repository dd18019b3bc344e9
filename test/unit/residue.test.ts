import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { expect, test } from '@jest/globals'
import { BucketEmulator } from '../support/bucket/bucket.js'
import { findResidue, watchUnhandledErrors } from '../support/residue.js'

// Disables the waiting time on which outage tests rely.
const immediately = { timeoutMs: 0 }

test('reports a temporary file, but not a folder, as residue', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-residue-'))
  await mkdir(join(folder, 'spool', 'of-a-process'), { recursive: true })
  expect(await findResidue({ spool: [folder, join(folder, 'not-there')] }, immediately)).toEqual([])
  const file = join(folder, 'spool', 'of-a-process', 'upload')
  await writeFile(file, '')
  expect(await findResidue({ spool: [folder] }, immediately)).toEqual([`temporary file ${file}`])
  await rm(folder, { recursive: true })
})

test('reports a request in progress and excess bucket connections as residue', async () => {
  const bucket = await BucketEmulator.start({ name: 'blobs' })
  const { port } = new URL(bucket.url)
  const sockets = Array.from({ length: 65 }, () => connect(Number(port), '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  while (bucket.connections < sockets.length) await new Promise(setImmediate)
  expect(await findResidue({ bucket }, immediately)).toEqual(['65 idle connections to the bucket'])
  bucket.faults.plan('metadata', { kind: 'silent' })
  sockets[0]!.write('GET /storage/v1/b/blobs/o/a HTTP/1.1\r\nHost: localhost\r\n\r\n')
  while (bucket.busy === 0) await new Promise(setImmediate)
  expect(await findResidue({ bucket }, immediately)).toEqual(['a request to the bucket that is still under way'])
  for (const socket of sockets) socket.destroy()
  expect(await findResidue({ bucket })).toEqual([])
  await bucket.stop()
})

test('reports a warning from the test process as residue', async () => {
  const watch = watchUnhandledErrors()
  ;(runInThisContext('process') as NodeJS.Process).emitWarning('as the test asked for')
  await new Promise(setImmediate)
  watch.stop()
  expect(watch.faults()).toEqual(['warning: as the test asked for'])
})

test.each([
  ['unhandledRejection', 'Promise.reject(new Error("unhandled"))'],
  ['unhandledRejection', 'process.on("unhandledRejection", () => process.exit(1)); Promise.reject(new Error("unhandled"))'],
  ['uncaughtException', 'setImmediate(() => { throw new Error("unhandled") })'],
  ['warning', 'const many = new EventTarget(); process.emitWarning("unhandled")'],
])('a service process reports an event of type %s on standard error: %s', async (kind, script) => {
  const preload = new URL('../support/errors-to-stderr.mjs', import.meta.url).href
  const child = spawn(process.execPath, ['--import', preload, '-e', script], { stdio: ['ignore', 'ignore', 'pipe'] })
  const reported = (await child.stderr.setEncoding('utf8').toArray()).join('')
  expect(reported).toMatch(new RegExp(`^ASSAY-FAULT ${kind}: .*unhandled`, 'm'))
})
