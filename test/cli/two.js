const { dataSource } = require('./data-source')
const { DataSource } = require('typeorm')

module.exports = { one: dataSource, other: new DataSource(dataSource.options) }
