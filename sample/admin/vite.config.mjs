import { resolve } from 'node:path'
import { defineConfig } from 'vite'

const source = resolve(import.meta.dirname, '../../src/admin')

/** A page for `/admin/` of the sample: sample/admin-page.ts. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/admin/',
  // An application of its own has the package installed.
  resolve: { alias: { 'typeorm-resources/react-admin': `${source}/react-admin.ts` } },
  // One script, most of it react-admin's.
  build: { target: 'es2022', chunkSizeWarningLimit: 3000 },
})
