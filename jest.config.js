const { randomInt } = require('node:crypto')
const { availableParallelism } = require('node:os')
const leftOut = require('./test/left-out')
const legs = require('./test/legs')

if (process.env.TEST_ALL === '1' && leftOut.lines.length > 0) {
  throw new Error(`not all tests can run here:\n${leftOut.lines.join('\n')}`)
}

/** Suites whose programs are not installed: test/leg-reporter.js names them at the end. */
const withoutPrograms = leftOut.suites.map(({ suite }) => `/${suite.replaceAll('.', '\\.')}$`)

/** What test data is varied by: `TEST_SEED`, at night another one each time, else one for each leg. */
const { TEST_SEED, TEST_NIGHTLY } = process.env
const given = TEST_NIGHTLY === '1' ? (TEST_SEED ?? randomInt(1, 2 ** 31)) : TEST_SEED
const seedOf = (index) => Number(given ?? index)

/** @type {import('jest').Config} */
const common = {
  rootDir: __dirname,
  testEnvironment: '<rootDir>/test/environment.js',
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

/** What touches TypeORM's classes, errors and metadata in every way: reads, joins, writes, trees, listeners, transactions, the lock. */
const withTwoCopies = [
  ...['accounts', 'embedded', 'entities', 'faults', 'keyset', 'lifecycle', 'listeners-late', 'models', 'mounting'],
  ...['relations', 'trees', 'updates', 'validation'],
]

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
      testPathIgnorePatterns: withoutPrograms,
      globals: { testLeg: { name: 'browser', driver: 'better-sqlite3', seed: 0 } },
    },
    // What goes wrong, on servers of its own. SQLite's one connection is a matter of TypeORM's drivers.
    {
      ...common,
      displayName: 'faults',
      testMatch: ['<rootDir>/test/faults/*.test.ts'],
      testPathIgnorePatterns: withoutPrograms,
    },
    {
      ...common,
      displayName: 'faults 0.3',
      testMatch: ['<rootDir>/test/faults/{posts,sqlite-lock}.test.ts'],
      moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': '<rootDir>/node_modules/typeorm-0.3' },
      globals: { faultDatabases: ['better-sqlite3', 'sqlite'] },
    },
    // An application with another copy of TypeORM than ours.
    ...[
      ['1.1', '0.3'],
      ['0.3', '1.1'],
    ].map(([site, library]) => ({
      ...common,
      displayName: `${site}, library ${library}`,
      testMatch: [
        '<rootDir>/test/{conformance,copies,sqlite}/*.test.ts',
        `<rootDir>/test/http/{${withTwoCopies.join(',')}}.test.ts`,
      ],
      resolver: `<rootDir>/test/copies/library-${library}.js`,
      globals: { testLeg: { name: `${site} better-sqlite3`, driver: 'better-sqlite3', seed: 0 } },
    })),
    ...legs
      .map((leg, index) => ({ ...leg, seed: seedOf(index) }))
      .filter(({ name }) => !leftOut.legs.some((leg) => leg.name === name))
      .map(({ name, typeorm, driver, seed, without, suites = [] }) => ({
        ...common,
        displayName: name,
        testMatch: ['conformance', 'http', 'varied', 'model', ...suites].map(
          (suite) => `<rootDir>/test/${suite}/**/*.test.ts`,
        ),
        ...(without && { testPathIgnorePatterns: [`/${without}\\.test\\.ts$`] }),
        moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': `<rootDir>/node_modules/${typeorm}` },
        globals: { testLeg: { name, driver, seed } },
      })),
  ],
}
