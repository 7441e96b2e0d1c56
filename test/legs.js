/**
 * The legs: combinations of a database, a driver and a version of TypeORM on which the HTTP and conformance suites run
 * (docs/reference/databases.md). `runs` selects the suites of `test/http` that run on a leg (suites.js):
 * - `all`: all of them;
 * - `databases`: those that depend on the database;
 * - `drivers`: those about drivers and about TypeORM;
 * - `typeorm`: those about TypeORM;
 * - `conformance`: none, because other legs have this version of TypeORM and this driver.
 * At night all run on all legs.
 */
module.exports = [
  {
    name: '1.1 better-sqlite3',
    typeorm: 'typeorm',
    driver: 'better-sqlite3',
    runs: 'all',
    suites: ['sqlite', 'hostile', 'model'],
  },
  {
    name: '0.3 better-sqlite3',
    typeorm: 'typeorm-0.3',
    driver: 'better-sqlite3',
    runs: 'conformance',
    suites: ['sqlite'],
  },
  { name: '0.3 sqlite3', typeorm: 'typeorm-0.3', driver: 'sqlite', runs: 'drivers', suites: ['sqlite', 'model'] },
  {
    name: '1.1 postgres',
    typeorm: 'typeorm',
    driver: 'postgres',
    server: 'TEST_POSTGRES_URL',
    runs: 'databases',
    suites: ['hostile', 'model', 'postgres'],
  },
  { name: '0.3 postgres', typeorm: 'typeorm-0.3', driver: 'postgres', server: 'TEST_POSTGRES_URL', runs: 'typeorm' },
  {
    name: '1.1 mariadb',
    typeorm: 'typeorm',
    driver: 'mariadb',
    server: 'TEST_MARIADB_URL',
    runs: 'databases',
    suites: ['hostile', 'model', 'mysql'],
  },
  {
    name: '0.3 mariadb',
    typeorm: 'typeorm-0.3',
    driver: 'mariadb',
    server: 'TEST_MARIADB_URL',
    runs: 'conformance',
    suites: ['mysql'],
  },
  // The driver `mysql` on the MariaDB server: TypeORM does not use RETURNING with it, and declares generated columns in MySQL's syntax,
  // which MariaDB does not support.
  {
    name: '1.1 mysql',
    typeorm: 'typeorm',
    driver: 'mysql',
    server: 'TEST_MARIADB_URL',
    without: 'computed',
    runs: 'drivers',
    suites: ['model', 'mysql'],
  },
]
