const { resolve, sep } = require('node:path')

const root = resolve(__dirname, '../..')
/** Directory of the library's modules. */
const source = resolve(root, 'src') + sep

/**
 * Resolves `typeorm` to one copy for the library and to another for everything else. npm installs two copies where the application needs
 * another version than the one that npm chooses for the library's peer dependency.
 * @param copies folders in node_modules
 */
module.exports =
  ({ library, site }) =>
  (request, options) => {
    if (request !== 'typeorm') return options.defaultResolver(request, options)
    const copy = (options.basedir + sep).startsWith(source) ? library : site
    return options.defaultResolver(resolve(root, 'node_modules', copy), options)
  }
