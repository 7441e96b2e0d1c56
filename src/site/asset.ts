import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { holdsIfNoneMatch } from '../request/preconditions'
import { notModifiedResponse, textResponse, withBytes } from '../response/http-response'
import type { PageHandler } from './page'

/** Folder of the built web files: `dist/web`. The path is the same from `dist/site` and from `src/site`. */
const folder = join(__dirname, '..', '..', 'dist', 'web')

const mediaTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

/**
 * Serves a file of this package. The file is read and hashed once, at the first request.
 * @param name path in `dist/web`: `docs/swagger-ui.css`
 */
export function assetPage(name: `${string}.${keyof typeof mediaTypes}`): PageHandler {
  const type = name.endsWith('.css') ? mediaTypes.css : mediaTypes.js
  let file: { readonly bytes: Buffer; readonly tag: string } | undefined
  return async ({ context }) => {
    file ??= readAsset(name)
    const { bytes, tag } = file
    if (!holdsIfNoneMatch(context.headers['if-none-match'], tag)) return notModifiedResponse(tag)
    return withBytes(textResponse(type, '', { ETag: tag }), bytes)
  }
}

/** Reads a file and computes its ETag. Hashing the largest file takes as long as responding to many requests. */
function readAsset(name: string): { readonly bytes: Buffer; readonly tag: string } {
  const bytes = readFileSync(join(folder, name))
  return { bytes, tag: tagOf(bytes) }
}

/**
 * Serves an HTML page that may load files from its own origin and send requests to it, and to no other (W3C, Content
 * Security Policy).
 * @param render renders the page for a root path that is escaped for HTML
 */
export function htmlPage(render: (root: string) => string): PageHandler {
  return async ({ root }) =>
    textResponse('text/html; charset=utf-8', render(escapeHtml(root)), { 'Content-Security-Policy': policy })
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets inline styles on some of its elements.
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

/** Strong ETag of a text (RFC 9110). */
export function tagOf(text: string | Buffer): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}
