/**
 * The legs: combinations of a database, a driver and a version of TypeORM on which the HTTP and conformance suites run
 * (docs/reference/databases.md). The hostile tests and other suites that take long (`longSuites` in jest.config.js) run on one leg of each database.
 */
module.exports = [
  { name: '1.1 better-sqlite3', typeorm: 'typeorm', driver: 'better-sqlite3', suites: ['sqlite', 'hostile'] },
  { name: '0.3 better-sqlite3', typeorm: 'typeorm-0.3', driver: 'better-sqlite3', suites: ['sqlite'] },
  { name: '0.3 sqlite3', typeorm: 'typeorm-0.3', driver: 'sqlite', suites: ['sqlite'] },
  {
    name: '1.1 postgres',
    typeorm: 'typeorm',
    driver: 'postgres',
    server: 'TEST_POSTGRES_URL',
    suites: ['hostile', 'postgres'],
  },
  { name: '0.3 postgres', typeorm: 'typeorm-0.3', driver: 'postgres', server: 'TEST_POSTGRES_URL' },
  {
    name: '1.1 mariadb',
    typeorm: 'typeorm',
    driver: 'mariadb',
    server: 'TEST_MARIADB_URL',
    suites: ['hostile', 'mysql'],
  },
  { name: '0.3 mariadb', typeorm: 'typeorm-0.3', driver: 'mariadb', server: 'TEST_MARIADB_URL', suites: ['mysql'] },
  // The driver `mysql` on the MariaDB server: TypeORM does not use RETURNING with it, and declares generated columns in MySQL's syntax,
  // which MariaDB does not support.
  {
    name: '1.1 mysql',
    typeorm: 'typeorm',
    driver: 'mysql',
    server: 'TEST_MARIADB_URL',
    without: 'computed',
    suites: ['mysql'],
  },
]
