// Tests in test/api and test/faults load about 1,500 modules of the service, which takes longer than most of these tests. Files
// in these folders that run in one jest worker share a global scope and, with shared-runtime.cjs, the modules of the service. A
// test file's own modules, mocks and environment variables are discarded after the file.
const { sep } = require('node:path')
const { TestEnvironment } = require('jest-environment-node')

// Exits immediately, because freeing the heap takes longer than the half second that jest allows.
if (process.send) process.once('beforeExit', () => process.exit())

const folders = [`${sep}test${sep}api${sep}`, `${sep}test${sep}faults${sep}`]

class SharedEnvironment extends TestEnvironment {
  isKept = true
  #exit = this.global.process.exit
  #variables = { ...this.global.process.env }

  teardown() {
    const { process } = this.global
    // Jest wraps `process.exit` again for each file.
    process.exit = this.#exit
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) delete process.env[name]
    Object.assign(process.env, this.#variables)
    // Otherwise the next runner would use the previous runner's listeners.
    delete this.global[Symbol.for('EVENT_HANDLERS')]
  }
}

let shared

module.exports = function environmentFor(config, context) {
  if (!folders.some((folder) => context.testPath.includes(folder))) return new TestEnvironment(config, context)
  shared ??= new SharedEnvironment(config, context)
  return shared
}
