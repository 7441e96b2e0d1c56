const { randomInt } = require('node:crypto')
const { availableParallelism } = require('node:os')
const leftOut = require('./test/left-out')
const legs = require('./test/legs')
const { drivers, typeorm, withoutDatabase } = require('./test/suites')

if (process.env.TEST_ALL === '1' && leftOut.lines.length > 0) {
  throw new Error(`not all tests can run here:\n${leftOut.lines.join('\n')}`)
}

/** Patterns of test files that need programs that are not installed. test/leg-reporter.js lists them after the run. */
const withoutPrograms = leftOut.suites.map(({ suite }) => `/${suite.replaceAll('.', '\\.')}$`)

/** Seed of the test data: `TEST_SEED` if set, a random one in the nightly run, otherwise the index of the leg. */
const { TEST_SEED, TEST_NIGHTLY } = process.env
const given = TEST_NIGHTLY === '1' ? (TEST_SEED ?? randomInt(1, 2 ** 31)) : TEST_SEED
const seedOf = (index) => Number(given ?? index)

/** Packages that are ES modules, which `require` cannot load in Jest, but in Node.js since 20.19. */
const esModules = { '/node_modules/(jose|@nestjs)/.+\\.js$': ['@swc/jest', { module: { type: 'commonjs' } }] }

/** @type {import('jest').Config} */
const common = {
  rootDir: __dirname,
  testEnvironment: '<rootDir>/test/environment.js',
  globalSetup: '<rootDir>/test/setup.js',
  globalTeardown: '<rootDir>/test/teardown.js',
  transformIgnorePatterns: ['/node_modules/(?!(jose|@nestjs)/)'],
  transform: {
    ...esModules,
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

/** Whether all suites run on all legs: at night. A suite that is named on the command line runs on all legs too. */
const runsAll = TEST_NIGHTLY === '1' || process.argv.slice(2).some((argument) => argument.includes('test/http/'))

const pathsIn = (folder) => `<rootDir>/test/${folder}/**/*.test.ts`
const suitePaths = (names, root = '<rootDir>') => `${root}/test/http/{${names.join(',')}}.test.ts`

/** Patterns of the suites of `test/http` by the value `runs` of a leg: see test/legs.js. */
const httpSuites = {
  all: [pathsIn('http')],
  // Jest replaces <rootDir> only at the start of a pattern.
  databases: [pathsIn('http'), `!${suitePaths(withoutDatabase, __dirname)}`],
  drivers: [suitePaths(typeorm), suitePaths(drivers)],
  typeorm: [suitePaths(typeorm)],
  conformance: [],
}

/** Patterns of the suites that run on a leg. */
function suitesOf({ runs, suites = [] }) {
  const selected = runsAll ? ['http', 'model'].map(pathsIn) : httpSuites[runs]
  return [...['conformance', 'varied', ...suites].map(pathsIn), ...selected]
}

/** Suites that cover every use of TypeORM's classes, errors and metadata, for runs with two copies of TypeORM. */
const withTwoCopies = [
  ...['accounts', 'embedded', 'entities', 'faults', 'keyset', 'lifecycle', 'listeners-late', 'models', 'mounting'],
  ...['idempotency', 'listener-events', 'listener-principal', 'relations', 'trees', 'updates', 'validation'],
]

/** @type {import('jest').Config} */
module.exports = {
  // More workers than cores: tests wait for database servers and for timeouts.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  // Each file loads all modules again, and Jest does not free all of them. With heaps of 2 to 3 GB, the suites at the end of a run took
  // three times as long as in a new process.
  workerIdleMemoryLimit: '800MB',
  // A limit for tests that hang. Nothing should depend on it: a busy machine is several times slower than an idle one.
  testTimeout: 120_000,
  reporters: ['default', '<rootDir>/test/leg-reporter.js'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['', 'cli/', 'unit/'].map((folder) => `<rootDir>/test/${folder}*.test.ts`),
    },
    // User interfaces, in Chromium.
    {
      ...common,
      displayName: 'browser',
      testMatch: ['<rootDir>/test/browser/*.test.ts'],
      testPathIgnorePatterns: withoutPrograms,
      globals: { testLeg: { name: 'browser', driver: 'better-sqlite3', seed: 0 } },
    },
    // Failures of databases and processes; the tests start their own servers.
    {
      ...common,
      displayName: 'faults',
      testMatch: ['<rootDir>/test/faults/*.test.ts'],
      testPathIgnorePatterns: withoutPrograms,
    },
    {
      ...common,
      displayName: 'faults 0.3',
      testMatch: ['<rootDir>/test/faults/{posts,silent-connections,sqlite-lock}.test.ts'],
      testPathIgnorePatterns: withoutPrograms,
      moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': '<rootDir>/node_modules/typeorm-0.3' },
      globals: { faultDatabases: ['better-sqlite3', 'sqlite'] },
    },
    // The application and the library use different copies of TypeORM.
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
      // The second connection and the turns of clients do not depend on the library's copy of TypeORM.
      testPathIgnorePatterns: ['/sqlite/long-transaction', '/sqlite/slow-statements'],
      resolver: `<rootDir>/test/copies/library-${library}.js`,
      globals: { testLeg: { name: `${site} better-sqlite3`, driver: 'better-sqlite3', seed: 0 } },
    })),
    ...legs
      .map((leg, index) => ({ ...leg, seed: seedOf(index) }))
      .filter(({ name }) => !leftOut.legs.some((leg) => leg.name === name))
      .map((leg) => ({
        ...common,
        displayName: leg.name,
        testMatch: suitesOf(leg),
        testPathIgnorePatterns: leg.without ? [`/${leg.without}\\.test\\.ts$`] : [],
        moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': `<rootDir>/node_modules/${leg.typeorm}` },
        globals: { testLeg: { name: leg.name, driver: leg.driver, seed: leg.seed } },
      })),
  ],
}
