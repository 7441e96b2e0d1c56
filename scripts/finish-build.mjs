import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'

// Declares the client and the data providers as ES modules, because they also run in browsers. The service is CommonJS.
for (const folder of ['client', 'admin']) {
  writeFileSync(`dist/${folder}/package.json`, '{ "type": "module", "sideEffects": false }\n')
}

// Copies the files of Swagger UI that a page needs. Its npm package is not a dependency, because it is seven times as large,
// and its dependency @scarf/scarf sends statistics about each installation.
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
