const promises = require('node:fs/promises')
const { setTimeout } = require('node:timers/promises')

// Delays the first renaming, so that another process can read the file that it replaces.
const { rename } = promises
let delay = 500
promises.rename = async (...paths) => {
  await setTimeout(delay)
  delay = 0
  await rename(...paths)
}
