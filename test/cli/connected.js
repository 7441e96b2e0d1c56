const { DataSource } = require('typeorm')
const { entities } = require('../../sample/dist/entities')

const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities })
const { destroy } = dataSource
// Keeps the process running until the data source is destroyed, as the connection of a database server does.
const connection = setInterval(() => {}, 1000)
dataSource.destroy = async () => {
  clearInterval(connection)
  await destroy.call(dataSource)
}

module.exports = dataSource.initialize()
