const { accessSync, constants, existsSync, readdirSync, readFileSync } = require('node:fs')
const { delimiter, join, relative, resolve } = require('node:path')

/**
 * What some suites need besides what README asks for: the commands, Debian's package of them, and what stands in a test file
 * that starts them.
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
]

/** The path of a command; undefined where it is not installed. `CHROMIUM=…` names a browser that is elsewhere. */
function findProgram(name) {
  if (name === 'chromium' && process.env.CHROMIUM) return process.env.CHROMIUM
  return places()
    .map((place) => join(place, name))
    .find(isExecutable)
}

/** Where commands are looked for. */
function places() {
  return [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', ...postgresPlaces()]
}

/** Debian keeps PostgreSQL's own commands out of PATH, each version's beside the others. */
function postgresPlaces() {
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

/** The suites of a folder whose programs are not installed, each with the packages that have them. */
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

module.exports = { findProgram, places, suitesWithoutPrograms }
