const { DataSource } = require('typeorm')
const { entities } = require('../../sample/dist/entities')

const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities })
const { destroy } = dataSource
// As the connections of a server do, it keeps the process until it is closed.
const connection = setInterval(() => {}, 1000)
dataSource.destroy = async () => {
  clearInterval(connection)
  await destroy.call(dataSource)
}

module.exports = dataSource.initialize()
