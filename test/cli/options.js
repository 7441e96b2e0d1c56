module.exports = { prefix: '/v1', info: { title: 'Places', version: '2.0.0' } }
