import { assetPage, htmlPage } from './asset'
import type { Pages } from './page'

/** Pages of Swagger UI for the OpenAPI document. Its files are served from the same origin. */
export function docsPages(): Pages {
  return new Map([
    ['/docs', htmlPage(render)],
    ['/docs/swagger-ui.css', assetPage('docs/swagger-ui.css')],
    ['/docs/swagger-ui-bundle.js', assetPage('docs/swagger-ui-bundle.js')],
    ['/docs/page.css', assetPage('docs/page.css')],
    ['/docs/start.js', assetPage('docs/start.js')],
  ])
}

const render = (root: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/docs/swagger-ui.css">
<link rel="stylesheet" href="${root}/docs/page.css">
</head>
<body data-root="${root}">
<header><a href="${root}/">Explorer</a></header>
<div id="docs"></div>
<script src="${root}/docs/swagger-ui-bundle.js"></script>
<script src="${root}/docs/start.js"></script>
</body>
</html>
`
