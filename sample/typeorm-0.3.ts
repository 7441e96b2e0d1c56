import Module from 'node:module'

/*
 * Runs before the sample, in `npm run sample:0.3`. Both lines of TypeORM are installed here: `typeorm`, and `typeorm-0.3` under
 * a name of its own. An application has one of them, and the sample and the library must load the same, so the name is
 * resolved anew for all modules instead of being imported.
 */
const loader = Module as unknown as { _resolveFilename: (request: string, ...rest: readonly unknown[]) => string }
const resolve = loader._resolveFilename
loader._resolveFilename = (request, ...rest) => resolve(request === 'typeorm' ? 'typeorm-0.3' : request, ...rest)

process.env['SAMPLE_DRIVER'] = 'sqlite'
