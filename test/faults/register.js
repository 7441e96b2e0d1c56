const { readFileSync } = require('node:fs')
const Module = require('node:module')
const { transformSync } = require('@swc/core')

/** Lets Node.js run the TypeScript of the tests. The package itself is loaded from `dist`, as in applications. */
Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      target: 'es2023',
    },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  })
  module._compile(code, filename)
}
