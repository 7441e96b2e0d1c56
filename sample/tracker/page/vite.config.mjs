import { resolve } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the page of the tracker, which sample/tracker/main.ts serves. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // An application of its own has the package installed.
  resolve: {
    alias: { 'typeorm-resources/client': resolve(import.meta.dirname, '../../../src/client/index.ts') },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: { target: 'es2022', outDir: '../../dist/tracker/page', emptyOutDir: true },
})
