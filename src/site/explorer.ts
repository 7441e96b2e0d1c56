import type { Rule } from '../access/rule'
import { viewsOf } from '../pipeline/service'
import { preferredType } from '../request/accept'
import { jsonResponse, withCaching } from '../response/http-response'
import { assetPage, htmlPage } from './asset'
import { requirePageReader } from './description'
import type { PageHandler, Pages } from './page'

/** Files of the explorer, the page to view and change records. */
export function explorerPages(): Pages {
  return new Map([
    ['/-/explorer.js', assetPage('explorer.js')],
    ['/-/explorer.css', assetPage('explorer.css')],
  ])
}

const explorer = htmlPage(
  (root) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/-/explorer.css">
</head>
<body data-root="${root}">
<div id="explorer"></div>
<script type="module" src="${root}/-/explorer.js"></script>
</body>
</html>
`,
)

/**
 * Serves the root path of a mount: the explorer to browsers, the list of resources to other clients.
 * @param hasExplorer whether there is an explorer; without it, all clients receive the list
 */
export function rootPage(rule: Rule, hasExplorer: boolean): PageHandler {
  const list: PageHandler = async (request) => {
    const { service } = await requirePageReader(rule, request)
    const { root } = request
    const resources = viewsOf(service).map(({ name, description }) => ({
      name,
      path: `${root}/${name}/`,
      description,
    }))
    return withCaching(jsonResponse(200, JSON.stringify({ resources, openapi: `${root}/openapi.json` })), false)
  }
  if (!hasExplorer) return list
  return async (request) => {
    const { context } = request
    const isBrowser = preferredType(context, ['application/json', 'text/html']) === 'text/html'
    const response = await (isBrowser ? explorer : list)(request)
    context.vary('Accept')
    return response
  }
}
