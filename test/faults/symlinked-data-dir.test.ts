import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { World } from '../support/world.js'

let folder: string
let world: World
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-symlink-'))
  await mkdir(join(folder, 'disk'))
  await symlink(join(folder, 'disk'), join(folder, 'data'))
  // Operator rules run in the sandbox.
  await mkdir(join(folder, 'rules'))
  await writeFile(join(folder, 'rules', 'rule.yar'), 'rule forbidden { strings: $a = "forbidden word" condition: $a }\n')
  world = await World.open({ DATA_DIR: join(folder, 'data'), RULES_DIR: join(folder, 'rules') })
})
afterAll(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

// Sandboxed processes read files above 4 MiB from the spool and receive smaller ones as bytes.
test('checks and scans large files even if DATA_DIR is a symbolic link', async () => {
  const pixels = Buffer.alloc(1500 * 1300 * 3)
  for (let at = 0; at < pixels.length; at++) pixels[at] = (at * 2_654_435_761) >>> 13
  const image = await sharp(pixels, { raw: { width: 1500, height: 1300, channels: 3 } })
    .png({ compressionLevel: 0 })
    .toBuffer()
  expect(image.length).toBeGreaterThan(4 * 1024 * 1024)
  const tenant = await world.createTenant()
  await tenant.createContext('images', { max_file_size_mb: 16 })
  const { status, body } = await tenant.admin.upload('images', 'noise.png', image)
  expect([status, body.message]).toEqual([201, 'File uploaded.'])

  await tenant.createContext('notes', { max_file_size_mb: 16 })
  const text = Buffer.alloc(5 * 1024 * 1024, 'words of a note\n')
  expect((await tenant.admin.upload('notes', 'clean.txt', text)).status).toBe(201)
  text.write('forbidden word', text.length - 100)
  expect((await tenant.admin.upload('notes', 'infected.txt', text)).body.error.code).toBe('virus_detected')
})
