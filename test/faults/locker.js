const Database = require('better-sqlite3')

/** Holds the write lock of a SQLite file, as another program might, until it is killed. */
const file = new Database(process.argv[2])
file.exec('BEGIN IMMEDIATE')
process.send('locked')
process.once('disconnect', () => process.exit())
