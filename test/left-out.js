const legs = require('./legs')
const { suitesWithoutPrograms } = require('./programs')

/** The legs of servers whose address is not given, and the suites whose programs are not installed. */
module.exports = {
  legs: legs.filter(({ server }) => server && !process.env[server]),
  suites: ['browser', 'faults'].flatMap(suitesWithoutPrograms),
}

/** A line for each of them, which says how to have it run. */
module.exports.lines = [
  ...module.exports.legs.map(({ name, server }) => `${name.padEnd(20)} not run: set ${server}`),
  ...module.exports.suites.map(({ suite, install }) => `${suite} not run: install ${install.join(', ')}`),
]
