import { resolve } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the page of the tracker, which sample/tracker/main.ts serves. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // Applications outside of this repository install the package instead.
  resolve: {
    alias: { 'typeorm-resources/client': resolve(import.meta.dirname, '../../../src/client/index.ts') },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: { target: 'es2022', outDir: '../../dist/tracker/page', emptyOutDir: true },
})
