// The tests of the rooms all load the same service: some 1,500 modules, whose loading and first, cold run cost more than
// most of these files' tests. So the files of test/api that a jest worker runs share one global scope there, and with
// kept-runtime.cjs the service's modules; what belongs to a file (its own modules, mocks, environment variables) ends with it.
const { sep } = require('node:path')
const { TestEnvironment } = require('jest-environment-node')

// A worker that has nothing open any more would take its heap apart, which takes longer than the half second after which jest
// says that it failed to exit.
if (process.send) process.once('beforeExit', () => process.exit())

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
  if (!context.testPath.includes(`${sep}test${sep}api${sep}`)) return new TestEnvironment(config, context)
  kept ??= new KeptEnvironment(config, context)
  return kept
}
