/** A database and a line of TypeORM that the HTTP and conformance suites run on: docs/reference/databases.md. */
const legs = [
  { name: '1.1 better-sqlite3', typeorm: 'typeorm', driver: 'better-sqlite3' },
  { name: '0.3 better-sqlite3', typeorm: 'typeorm-0.3', driver: 'better-sqlite3' },
  { name: '0.3 sqlite3', typeorm: 'typeorm-0.3', driver: 'sqlite' },
  { name: '1.1 postgres', typeorm: 'typeorm', driver: 'postgres', server: 'TEST_POSTGRES_URL' },
  { name: '0.3 postgres', typeorm: 'typeorm-0.3', driver: 'postgres', server: 'TEST_POSTGRES_URL' },
  { name: '1.1 mariadb', typeorm: 'typeorm', driver: 'mariadb', server: 'TEST_MARIADB_URL' },
  { name: '0.3 mariadb', typeorm: 'typeorm-0.3', driver: 'mariadb', server: 'TEST_MARIADB_URL' },
]

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
  moduleNameMapper: { '^typeorm-resources$': '<rootDir>/src/index.ts' },
}

/** @type {import('jest').Config} */
module.exports = {
  reporters: ['default', '<rootDir>/test/leg-reporter.js'],
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/test/*.test.ts', '<rootDir>/test/unit/**/*.test.ts'] },
    ...legs
      .filter(({ server }) => server === undefined || process.env[server])
      .map(({ name, typeorm, driver }) => ({
        ...common,
        displayName: name,
        testMatch: ['<rootDir>/test/{conformance,http}/**/*.test.ts'],
        moduleNameMapper: { ...common.moduleNameMapper, '^typeorm$': `<rootDir>/node_modules/${typeorm}` },
        globals: { leg: { name, driver } },
      })),
  ],
}
module.exports.legs = legs
