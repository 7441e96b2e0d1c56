import source from './data-source.js'

export default Promise.resolve(source.dataSource)
