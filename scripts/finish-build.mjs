import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'

// The client and the data providers are ES modules, for browsers too; the service is CommonJS.
for (const folder of ['client', 'admin']) {
  writeFileSync(`dist/${folder}/package.json`, '{ "type": "module", "sideEffects": false }\n')
}

// As much of Swagger UI as a page needs: its own package is seven times as large, and reports who installs it.
mkdirSync('dist/web/docs', { recursive: true })
for (const file of [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'LICENSE',
  'NOTICE',
]) {
  copyFileSync(`node_modules/swagger-ui-dist/${file}`, `dist/web/docs/${file}`)
}
for (const file of ['start.js', 'page.css']) copyFileSync(`explorer/swagger/${file}`, `dist/web/docs/${file}`)
