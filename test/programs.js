const { accessSync, constants, existsSync, readdirSync, readFileSync } = require('node:fs')
const { delimiter, join, relative, resolve } = require('node:path')

/**
 * Programs that some suites need in addition to those in README: their commands, their Debian package, and texts in test files that start
 * them.
 */
const requirements = [
  { debian: 'chromium', commands: ['chromium'], startedBy: ["from './browser'"] },
  {
    debian: 'postgresql',
    commands: ['initdb', 'postgres', 'pg_basebackup'],
    startedBy: ['startPostgres', 'startStandby'],
  },
  { debian: 'mariadb-server', commands: ['mariadb-install-db', 'mariadbd'], startedBy: ['startMariadb'] },
  { debian: 'nginx-light', commands: ['nginx'], startedBy: ['startNginx'] },
  { debian: 'pgbouncer', commands: ['pgbouncer'], startedBy: ['startPgbouncer'] },
  { debian: 'redis-server', commands: ['redis-server'], startedBy: ['startRedis'] },
]

/** Finds the path of a command; undefined if it is not installed. The variable `CHROMIUM` sets the path of the browser. */
function findProgram(name) {
  if (name === 'chromium' && process.env.CHROMIUM) return process.env.CHROMIUM
  return searchPath()
    .map((directory) => join(directory, name))
    .find(isExecutable)
}

/** The directories that are searched for commands. */
function searchPath() {
  return [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', ...postgresDirectories()]
}

/** Debian installs the commands of PostgreSQL in a directory per version, outside of PATH. */
function postgresDirectories() {
  const base = '/usr/lib/postgresql'
  return existsSync(base) ? readdirSync(base).map((version) => join(base, version, 'bin')) : []
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The suites of a folder whose programs are not installed, each with the Debian packages to install. */
function suitesWithoutPrograms(folder) {
  const missing = requirements.filter(({ commands }) => !commands.every(findProgram))
  const files = readdirSync(resolve(__dirname, folder)).filter((file) => file.endsWith('.test.ts'))
  return files.flatMap((file) => {
    const path = resolve(__dirname, folder, file)
    const text = readFileSync(path, 'utf8')
    const install = missing
      .filter(({ startedBy }) => startedBy.some((words) => text.includes(words)))
      .map(({ debian }) => debian)
    return install.length === 0 ? [] : [{ suite: relative(resolve(__dirname, '..'), path), install }]
  })
}

module.exports = { findProgram, searchPath, suitesWithoutPrograms }
