// A jest module registry that outlives a test file (shared-environment.cjs). Service and package modules stay loaded. Modules of
// the tests and of the jest runner are loaded again for each file.
const { join, sep } = require('node:path')
const { pathToFileURL } = require('node:url')
const { default: Runtime } = require('jest-runtime')

const tests = pathToFileURL(join(__dirname, '..') + sep).href
const globals = '@jest/globals/'

class SharedRuntime extends Runtime {
  begin() {
    this.testState.state = 'loading'
    return this
  }

  teardown() {
    this.restoreAllMocks()
    this.mockState.clear()
    this.jestGlobals.clearJestObjectCache()
    const { esModuleRegistry, internalModuleRegistry } = this.registries
    internalModuleRegistry.clear()
    for (const key of esModuleRegistry.keys()) if (key.startsWith(tests) || key.startsWith(globals)) esModuleRegistry.delete(key)
  }
}

let shared

module.exports = function runtimeFor(config, environment, ...more) {
  if (!environment.isKept) return new Runtime(config, environment, ...more)
  shared ??= new SharedRuntime(config, environment, ...more)
  return shared.begin()
}
