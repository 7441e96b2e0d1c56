module.exports = require('./resolver')({ library: 'typeorm-0.3', site: 'typeorm' })
