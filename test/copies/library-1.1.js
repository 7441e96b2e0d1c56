module.exports = require('./resolver')({ library: 'typeorm', site: 'typeorm-0.3' })
