import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { InstalledClient, runProgram, tools } from '../support/installed-client.js'
import { describeIf } from '../support/installed-programs.js'
import { World } from '../support/world.js'

describeIf(existsSync(tools), 'the runtimes are not installed (npm ci --prefix test/clients)')(
  'packed client library in other runtimes',
  () => {
    let world: World
    let installed: InstalledClient
    beforeAll(async () => {
      world = await World.open()
      installed = await InstalledClient.create()
      await writeFile(join(installed.folder, 'on disk.txt'), 'from a disk')
      await installed.copy('sessions/client.mjs')
      // Converts the session to CommonJS.
      const session = await installed.read('sessions/client.mjs')
      const requires = session.replaceAll(/^import (.+) from ('.+')$/gm, 'const $1 = require($2)')
      await writeFile(join(installed.folder, 'session.cjs'), `(async () => {\n${requires}\n})()`)
    }, 300_000)
    afterAll(async () => {
      await world.close()
      await installed.remove()
    })

    test.each([
      ['Node.js', process.execPath, ['sessions/client.mjs']],
      ['Node.js as CommonJS', process.execPath, ['session.cjs']],
      ['Bun', 'bun', ['sessions/client.mjs']],
      ['Deno', 'deno', ['run', '--allow-all', '--node-modules-dir=manual', 'sessions/client.mjs']],
    ])('uploads and downloads files and aborts requests with the client library in %s', async (_name, program, args) => {
      const tenant = await world.createTenant()
      await tenant.createContext('notes', { allowed_extensions: ['txt'], max_file_size_mb: 20, scan_for_viruses: false })
      const env = { ASSAY_URL: world.url, ASSAY_KEY: tenant.admin.credential! }
      const session = await runProgram(installed.program(program), [...args, 'on disk.txt'], { cwd: installed.folder, env })
      expect(session).toEqual({
        status: 0,
        output: [
          'path on disk.txt from a disk 11',
          'link 17825792 17825792 true',
          'stream 13',
          'abort enough',
          'rejection txt',
          '',
        ].join('\n'),
      })
    })
  },
)
