const { DataSource } = require('typeorm')
const { entities } = require('../../sample/dist/entities')

// Where no database can be: a description needs none.
exports.dataSource = new DataSource({ type: 'better-sqlite3', database: '/no/such/folder/places.sqlite', entities })
