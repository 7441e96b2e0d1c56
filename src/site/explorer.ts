import { adminRule, type Rule, userRule } from '../access/rule'
import type { Service } from '../pipeline/service'
import { jsonResponse, withCaching } from '../response/http-response'
import { assetPage, htmlPage } from './asset'
import { type ReaderAccess, requireReader } from './description'
import type { PageHandler, Pages } from './page'

/** The page to look at records and to change them. Its files are under a name that no resource can have. */
export function explorerPages(access: ReaderAccess): Pages {
  return new Map([
    ['/-/explorer.js', assetPage('explorer.js')],
    ['/-/explorer.css', assetPage('explorer.css')],
    ['/-/session', sessionPage(access)],
  ])
}

/**
 * Says to who signs in whose credentials these are, so that the page knows what is the user's own, and whether he is an administrator. Whom no rule lets in is not told
 * that his password is right (specification: Admin rule).
 */
function sessionPage(access: ReaderAccess): PageHandler {
  return async (request) => {
    const { service } = await requireReader(access, request)
    const { principal } = await requireReader({ ...access, rule: loginRule(service) }, request)
    const { id, admin = false } = principal
    return withCaching(jsonResponse(200, JSON.stringify({ id, admin })), false)
  }
}

function loginRule({ resources }: Service): Rule {
  const rules = [...resources.values()].map(({ rule }) => rule)
  // One of the application's own may let in whom it likes.
  const isForUsers = rules.some(({ needs, writes }) => needs === 'users' || (needs === undefined && writes !== false))
  return isForUsers ? userRule() : adminRule()
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
 * What a mount begins with: the page for a browser, the list of resources for a program.
 * @param hasExplorer whether there is a page
 */
export function rootPage(access: ReaderAccess, hasExplorer: boolean): PageHandler {
  const list: PageHandler = async (request) => {
    const { service } = await requireReader(access, request)
    const { root } = request
    const listed = [...service.resources.values()].map(({ name, description }) => ({
      name,
      path: `${root}/${name}/`,
      description,
    }))
    return withCaching(jsonResponse(200, JSON.stringify({ resources: listed, openapi: `${root}/openapi.json` })), false)
  }
  if (!hasExplorer) return list
  return async (request) => {
    const { context } = request
    const isBrowser = context.accepts('json', 'html') === 'html'
    const answer = await (isBrowser ? explorer : list)(request)
    context.vary('Accept')
    return answer
  }
}
