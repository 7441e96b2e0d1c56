import { defineConfig } from 'vite'

/** Builds one script and one style sheet, which the service serves under its own names (src/site/explorer.ts). */
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
