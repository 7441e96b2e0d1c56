const legs = require('./legs')
const { suitesWithoutPrograms } = require('./programs')

/** The legs whose server's URL is not set, and the suites whose programs are not installed. jest.config.js leaves them out. */
module.exports = {
  legs: legs.filter(({ server }) => server && !process.env[server]),
  suites: ['browser', 'faults'].flatMap(suitesWithoutPrograms),
}

/** A line for each of them, which says how to run it. */
module.exports.lines = [
  ...module.exports.legs.map(({ name, server }) => `${name.padEnd(20)} not run: set ${server}`),
  ...module.exports.suites.map(({ suite, install }) => `${suite} not run: install ${install.join(', ')}`),
]
