const { DataSource } = require('typeorm')
const { entities } = require('../../sample/dist/entities')

// A path where no database can exist: the description is made without connecting.
exports.dataSource = new DataSource({ type: 'better-sqlite3', database: '/no/such/folder/places.sqlite', entities })
