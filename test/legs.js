/**
 * A database and a line of TypeORM that the HTTP and conformance suites run on: docs/reference/databases.md. The hostile
 * ones, which are long, run on each database once, and so does what starts processes.
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
  // As MySQL, which TypeORM has return nothing: the same server, the other way of writing. Its words for a
  // computed column are not MariaDB's.
  {
    name: '1.1 mysql',
    typeorm: 'typeorm',
    driver: 'mysql',
    server: 'TEST_MARIADB_URL',
    without: 'computed',
    suites: ['mysql'],
  },
]
