import { availableParallelism } from 'node:os'

// Hides the AWS SDK's warning that versions from 2027 require Node.js 22. The SDK version is pinned (docs/store-s3.md).
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'

export default {
  testEnvironment: '<rootDir>/test/support/shared-environment.cjs',
  runtime: '<rootDir>/test/support/shared-runtime.cjs',
  // Uses two more workers than cores, because many test files wait half of their time for deadlines, restarts and processes.
  maxWorkers: availableParallelism() + 2,
  // Restarts an idle worker above this memory, because modules stay loaded between files (shared-environment.cjs).
  workerIdleMemoryLimit: '800MB',
  testSequencer: '<rootDir>/test/support/slowest-first.mjs',
  roots: ['<rootDir>/test', '<rootDir>/packages'],
  // Excludes packages that only the client and deployment tests use.
  modulePathIgnorePatterns: ['<rootDir>/test/clients/node_modules', '<rootDir>/test/deploy/node_modules'],
  testMatch: ['<rootDir>/test/**/*.test.ts', '<rootDir>/packages/*/test/**/*.test.ts'],
  testTimeout: 120_000,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  // Imports name compiled files. Tests load the TypeScript sources instead, including those of the packages.
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^@assay/(\\w+)$': '<rootDir>/packages/$1/src/index.ts',
    '^@assay/(\\w+)/(\\w+)$': '<rootDir>/packages/$1/src/$2/index.ts',
  },
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
