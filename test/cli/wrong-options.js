module.exports = { prefx: '/v1', health: 'yes' }
