import { defineConfig } from 'vite'

// Jest sets `test`, for which Vite would build a larger script with the source positions of all elements.
process.env.NODE_ENV = 'production'

/**
 * Builds one script and one style sheet, which the service serves under its own names (src/site/explorer.ts). `package.json` says
 * that the sources are ES modules: otherwise Vite would take `main.tsx` for CommonJS, and wrap each module in a function.
 */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    outDir: '../dist/web',
    emptyOutDir: false,
    target: 'es2022',
    rollupOptions: {
      input: 'src/main.tsx',
      output: { entryFileNames: 'explorer.js', assetFileNames: 'explorer[extname]' },
    },
  },
})
