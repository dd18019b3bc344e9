import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { describeIf, describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'
import { getData, toStatusAndCode } from '../support/response-assertions.js'
import { newlyInfected, rescanAll } from '../support/updatable-clamd.js'
import { type TestTenant, World } from '../support/world.js'

// Tests rescans with real engines: native YARA in a thread, sandboxed operator YARA rules, and clamd. YARA scans files from 64
// KiB in a worker. Files from 256 KiB in a bucket are fetched to a temporary file.
const timeoutMs = 600_000
const sizes = [1024, 64 * 1024 + 1, 300 * 1024, 5 * 1024 * 1024]
const largest = 100 * 1024 * 1024

const rule = (name: string, text: string) => `rule ${name} { strings: $a = "${text}" condition: $a }\n`

let bucketWorld: BucketWorld
let folder: string
beforeAll(async () => {
  bucketWorld = await openBucketWorld()
  folder = await mkdtemp(join(tmpdir(), 'assay-rules-'))
})
afterAll(async () => {
  await bucketWorld.close()
  await rm(folder, { recursive: true, force: true })
})

const otherDisk = '/dev/shm'
const hasOtherDisk = existsSync(otherDisk) && statSync(otherDisk).dev !== statSync(tmpdir()).dev

const stores = [
  { store: 'local', storeEnv: () => ({}) },
  { store: 'bucket', storeEnv: () => bucketWorld.env },
]

function createContent(size: number, isInfected: boolean): Buffer {
  const content = Buffer.alloc(size, 'words of a note that people read, line by line\n')
  content.write(`${size} ${isInfected}\n`)
  // The infected string is at the end of the file, so only a complete scan finds it.
  if (isInfected) content.write(newlyInfected, size - newlyInfected.length)
  return content
}

/** Uploads one clean and one infected file of each size before the signatures detect the infection. */
async function uploadAll(tenant: TestTenant): Promise<{ clean: string[]; infected: string[] }> {
  await tenant.createContext('sizes', { max_file_size_mb: 128 })
  const upload = async (size: number, isInfected: boolean): Promise<string> => {
    const response = await tenant.admin.upload('sizes', `${size}-${isInfected}.txt`, createContent(size, isInfected))
    expect(response.status).toBe(201)
    return response.body.data.file_id
  }
  const [clean, infected]: string[][] = [[], []]
  for (const size of sizes) {
    clean!.push(await upload(size, false))
    infected!.push(await upload(size, true))
  }
  infected!.push(await upload(largest, true))
  return { clean: clean!, infected: infected! }
}

async function expectRescanned(caller: TestTenant['admin'], clean: string[], infected: string[]): Promise<void> {
  const count = clean.length + infected.length
  expect(getData(await caller.get('/contexts/sizes/rescan'))).toMatchObject({
    status: 'finished',
    files_done: count,
    files_scanned: count,
    files_failed: 0,
    files_quarantined: infected.length,
  })
  for (const file of infected) expect(toStatusAndCode(await caller.get(`/files/${file}`))).toEqual([403, 'quarantined'])
  for (const file of clean) {
    expect((await caller.get(`/files/${file}`)).status).toBe(200)
    const reports = getData(await caller.get(`/files/${file}/validations`)).data
    expect(reports.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['accepted', 'accepted'])
    const scan = reports[0].checks.find(({ check }: { check: string }) => check === 'virus_detected')
    expect(scan.outcome).toBe('passed')
  }
}

async function rescanWithOwnRules(env: Record<string, string>, rulesDir: string): Promise<void> {
  await mkdir(rulesDir)
  await writeFile(join(rulesDir, 'today.yar'), rule('Today', 'nothing that any file contains'))
  const world = await World.open({ ...env, RULES_DIR: rulesDir })
  try {
    const tenant = await world.createTenant()
    const { clean, infected } = await uploadAll(tenant)
    await writeFile(join(rulesDir, 'tomorrow.yar'), rule('Tomorrow', newlyInfected))
    // The upgraded service reads the new rules at startup.
    const upgraded = await World.open({ ...env, RULES_DIR: rulesDir }, world)
    try {
      await rescanAll(upgraded)
      await expectRescanned(upgraded.createCaller(tenant.admin.credential), clean, infected)
    } finally {
      await upgraded.close()
    }
  } finally {
    await world.close()
  }
}

describe.each(stores)('rescans of files from 1 KB to 100 MB in a $store store', ({ store, storeEnv }) => {
  const env = () => ({ ...storeEnv(), RESCAN_MB_PER_SECOND: '10000' })

  test(
    'finishes a rescan with the built-in YARA rules after a rule upgrade',
    async () => {
      const world = await World.open(env())
      try {
        const tenant = await world.createTenant()
        const { clean, infected } = await uploadAll(tenant)
        // Simulates scans by an older service version, because built-in rules change only with a release.
        await world.database.pool.query(
          `UPDATE validation_reports SET report = jsonb_set(report, '{engine,signaturesVersion}', '"older"') WHERE tenant_id = $1`,
          [tenant.tenantId],
        )
        await rescanAll(world)
        await expectRescanned(tenant.admin, [...clean, ...infected], [])
      } finally {
        await world.close()
      }
    },
    timeoutMs,
  )

  test(
    'a rescan quarantines files that match new sandboxed YARA rules',
    () => rescanWithOwnRules(env(), join(folder, store)),
    timeoutMs,
  )

  describeWith('clamd')('rescans with clamd', () => {
    let clamd: RealClamd
    beforeAll(async () => {
      clamd = await startRealClamd(['StreamMaxLength 200M', 'MaxFileSize 200M', 'MaxScanSize 400M'])
    })
    afterAll(() => clamd.close())

    test(
      'a rescan quarantines files that match new signatures',
      async () => {
        const world = await World.open({ ...env(), SCANNER_URL: clamd.unixUrl })
        try {
          const tenant = await world.createTenant()
          const { clean, infected } = await uploadAll(tenant)
          await clamd.addSignature('Test.Tomorrow', newlyInfected)
          // A custom database has no version, so a rescan must be requested.
          getData(await tenant.admin.post('/contexts/sizes/rescan'))
          await rescanAll(world)
          await expectRescanned(tenant.admin, clean, infected)
        } finally {
          await world.close()
        }
      },
      timeoutMs,
    )
  })
})

describeIf(hasOtherDisk, `${otherDisk} is not a separate file system`)('rescan of a local store on another file system', () => {
  test(
    "finishes a rescan with the operator's sandboxed YARA rules",
    async () => {
      const blobs = await mkdtemp(join(otherDisk, 'assay-blobs-'))
      try {
        await rescanWithOwnRules({ STORAGE_URL: `file://${blobs}`, RESCAN_MB_PER_SECOND: '10000' }, join(folder, 'other'))
      } finally {
        await rm(blobs, { recursive: true, force: true })
      }
    },
    timeoutMs,
  )
})
