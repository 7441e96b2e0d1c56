const { availableParallelism } = require('node:os')
const legs = require('./test/legs')

/** @type {import('jest').Config} */
const common = {
  rootDir: __dirname,
  testEnvironment: 'node',
  globalSetup: '<rootDir>/test/setup.js',
  globalTeardown: '<rootDir>/test/teardown.js',
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2023',
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  moduleNameMapper: {
    '^typeorm-resources$': '<rootDir>/src/index.ts',
    '^typeorm-resources/client$': '<rootDir>/src/client/index.ts',
  },
}

/** @type {import('jest').Config} */
module.exports = {
  // Much of a leg's time is its server's, and tests of faults wait.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/test/leg-reporter.js'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['', 'cli/', 'unit/'].map((folder) => `<rootDir>/test/${folder}*.test.ts`),
    },
    // What people see, in Chromium.
    {
      ...common,
      displayName: 'browser',
      testMatch: ['<rootDir>/test/browser/*.test.ts'],
      globals: { testLeg: { name: 'browser', driver: 'better-sqlite3' } },
    },
    // What goes wrong, on servers of its own. SQLite's one connection is a matter of TypeORM's drivers.
    { ...common, displayName: 'faults', testMatch: ['<rootDir>/test/faults/*.test.ts'] },
    {
      ...common,
      displayName: 'faults 0.3',
      testMatch: ['<rootDir>/test/faults/{posts,sqlite-lock}.test.ts'],
      moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': '<rootDir>/node_modules/typeorm-0.3' },
      globals: { faultDatabases: ['better-sqlite3', 'sqlite'] },
    },
    ...legs
      .filter(({ server }) => server === undefined || process.env[server])
      .map(({ name, typeorm, driver, without, suites = [] }) => ({
        ...common,
        displayName: name,
        testMatch: ['conformance', 'http', ...suites].map((suite) => `<rootDir>/test/${suite}/**/*.test.ts`),
        ...(without && { testPathIgnorePatterns: [`/${without}\\.test\\.ts$`] }),
        moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': `<rootDir>/node_modules/${typeorm}` },
        globals: { testLeg: { name, driver } },
      })),
  ],
}
