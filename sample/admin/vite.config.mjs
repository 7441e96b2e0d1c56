import { resolve } from 'node:path'
import { defineConfig } from 'vite'

const source = resolve(import.meta.dirname, '../../src/admin')

/** Pages for `/admin/` of the sample (sample/main.ts): react-admin, and a list by Refine. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/admin/',
  // An application of its own has the package installed.
  resolve: {
    alias: {
      'typeorm-resources/react-admin': `${source}/react-admin.ts`,
      'typeorm-resources/refine': `${source}/refine.ts`,
    },
  },
  build: { target: 'es2022', rollupOptions: { input: ['index.html', 'refine.html'] } },
})
