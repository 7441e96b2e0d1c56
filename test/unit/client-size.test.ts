import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Source of a bundle with the whole client, as in a page that uses all of it. */
const bundle = `
  import { build } from 'vite'
  const { output } = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: { input: 'src/client/index.ts', preserveEntrySignatures: 'strict' },
    },
  })
  if (output.length !== 1) throw new Error('more than one file')
  process.stdout.write(output[0].code)`

test('the gzipped client has 4.9 kB, as its documentation says', () => {
  const cwd = resolve(__dirname, '../..')
  const code = execFileSync(process.execPath, ['--input-type=module', '-e', bundle], { cwd, encoding: 'utf8' })
  expect(code).toMatch(/export\s*\{.*createClient.*\}/s)
  expect(code).not.toContain('import')
  expect(gzipSync(code).length).toBeLessThan(4950)
  expect(gzipSync(code).length).toBeGreaterThan(4750)
})
