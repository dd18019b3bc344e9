// The tests in test/api and test/faults load the same service: about 1,500 modules, whose loading and first execution cost more
// than most of these files' tests. So the files of these folders that a jest worker runs share one global scope, and with
// kept-runtime.cjs the service's modules. What belongs to one file (its own modules, mocks, environment variables) ends with it.
const { sep } = require('node:path')
const { TestEnvironment } = require('jest-environment-node')

// A worker that has nothing open any more would take its heap apart, which takes longer than the half second after which jest
// says that it failed to exit.
if (process.send) process.once('beforeExit', () => process.exit())

const folders = [`${sep}test${sep}api${sep}`, `${sep}test${sep}faults${sep}`]

class KeptEnvironment extends TestEnvironment {
  isKept = true
  #exit = this.global.process.exit
  #variables = { ...this.global.process.env }

  teardown() {
    const { process } = this.global
    // Jest wraps it anew for each file.
    process.exit = this.#exit
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) delete process.env[name]
    Object.assign(process.env, this.#variables)
    // The runner's next instance would find the last one's listeners.
    delete this.global[Symbol.for('EVENT_HANDLERS')]
  }
}

let kept

module.exports = function environmentFor(config, context) {
  if (!folders.some((folder) => context.testPath.includes(folder))) return new TestEnvironment(config, context)
  kept ??= new KeptEnvironment(config, context)
  return kept
}
