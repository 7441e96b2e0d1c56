import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { holdsIfNoneMatch } from '../request/preconditions'
import { notModifiedResponse, textResponse } from '../response/http-response'
import type { PageHandler } from './page'

/** What the build puts beside the service: `dist/web`, from `dist/site` as from `src/site`. */
const folder = join(__dirname, '..', '..', 'dist', 'web')

const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

/** A file of the package's own, read when it is first asked for. @param name with its folder: `docs/swagger-ui.css` */
export function assetPage(name: `${string}.${keyof typeof types}`): PageHandler {
  const type = name.endsWith('.css') ? types.css : types.js
  let file: { readonly text: string; readonly tag: string } | undefined
  return async ({ context }) => {
    file ??= readAsset(name)
    const { text, tag } = file
    if (!holdsIfNoneMatch(context.headers['if-none-match'], tag)) return notModifiedResponse(tag)
    return textResponse(type, text, { ETag: tag })
  }
}

/** The hash of the largest takes as long as many an answer. */
function readAsset(name: string): { readonly text: string; readonly tag: string } {
  const text = readFileSync(join(folder, name), 'utf8')
  return { text, tag: tagOf(text) }
}

/** A page of HTML that may load and ask what is of our own origin, and nothing else (W3C, Content Security Policy). */
export function htmlPage(render: (root: string) => string): PageHandler {
  return async ({ root }) =>
    textResponse('text/html; charset=utf-8', render(escapeHtml(root)), { 'Content-Security-Policy': policy })
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets the styles of some of its elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A strong validator of a text (RFC 9110, ETag). */
export function tagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}
