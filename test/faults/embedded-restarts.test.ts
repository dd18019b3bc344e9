import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { superviseServer } from '../../src/platform/db/embedded/embedded.js'
import type { EmbeddedServer } from '../../src/platform/db/embedded/server.js'
import { openDatabase } from '../../src/platform/db/open-database.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay-keeper-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return (await client.query(sql).finally(() => client.end())).rows
}

const postmaster = (dataDir: string) => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

test.each([['data'], [`long ${'x'.repeat(120)}`]])(
  'restarts an embedded PostgreSQL that was killed, but not one that was stopped',
  async (name) => {
    const dataDir = join(scratch, name)
    const output: string[] = []
    let runsAgain = () => {}
    const database = await openDatabase({ dataDir, databaseUrl: undefined }, (what) => {
      output.push(what)
      if (what.includes('was restarted')) runsAgain()
    })
    await query(database.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
    for (let time = 0; time < 2; time++) {
      const killed = postmaster(dataDir)
      const restarted = new Promise<void>((resolve) => {
        runsAgain = resolve
      })
      process.kill(killed, 'SIGKILL')
      await restarted
      expect(await query(database.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
      expect(postmaster(dataDir)).not.toBe(killed)
    }
    expect(output.filter((what) => what.includes('stopped unexpectedly'))).toHaveLength(2)
    await database.stop()
    await expect(query(database.url, 'SELECT 1')).rejects.toThrow()
    expect(output.filter((what) => what.includes('stopped unexpectedly'))).toHaveLength(2)
  },
)

/** A database server that exits immediately after its start. */
const shortLived: EmbeddedServer = { url: 'x', pid: 0, socketFolder: '/x', exited: Promise.resolve(), stop: async () => {} }

test('stops restarting an embedded PostgreSQL that exits repeatedly', async () => {
  let starts = 0
  const keeper = await superviseServer(
    async () => {
      starts++
      return shortLived
    },
    () => {},
  )
  await keeper.lost
  expect(starts).toBe(6)
})

test('leaves no PostgreSQL process if the service stops during a database restart', async () => {
  const stops: number[] = []
  let started = 0
  let goOn = () => {}
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const keeper = await superviseServer(
    async () => {
      const nth = ++started
      if (nth === 1) return shortLived
      await waiting
      let end = () => {}
      const exited = new Promise<void>((resolve) => {
        end = resolve
      })
      const stop = async () => {
        stops.push(nth)
        end()
      }
      return { ...shortLived, exited, stop }
    },
    () => {},
  )
  while (started < 2) await sleep(5)
  const stopped = keeper.stop()
  goOn()
  await stopped
  expect(stops).toEqual([2])
})
