import { availableParallelism } from 'node:os'

export default {
  testEnvironment: 'node',
  // One more than there are cores: at any time some file waits for a deadline or a restart.
  maxWorkers: availableParallelism() + 1,
  testSequencer: '<rootDir>/test/support/slowest-first.mjs',
  roots: ['<rootDir>/test'],
  // The client generators' packages, which are not the suite's.
  modulePathIgnorePatterns: ['<rootDir>/test/clients/node_modules', '<rootDir>/test/deploy/node_modules'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 120_000,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  // Sources name each other by what they compile to.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          target: 'es2022',
        },
        module: { type: 'es6' },
      },
    ],
  },
}
