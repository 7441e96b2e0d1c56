import { defineConfig } from 'vite'

/** One script and one style sheet, which the service hands out under names of its own (src/site/explorer.ts). */
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
