import { hash } from 'node:crypto'
import { holdsIfNoneMatch } from '../request/preconditions'
import { type HttpResponse, jsonResponse, notModifiedResponse } from './http-response'

/** Maximum length of a list that has an ETag, in characters. A digest of more would delay other requests. */
const maxTaggedLength = 1024 * 1024

/**
 * Creates the response with a page of a list. Its ETag is weak, because a digest of the text does not contain the
 * fractions of date-times (RFC 9110, ETag).
 * @param body JSON of the envelope
 * @param ifNoneMatch the header `If-None-Match` of the request
 */
export function listResponse(body: string, ifNoneMatch: string | undefined): HttpResponse {
  if (body.length > maxTaggedLength) return jsonResponse(200, body)
  const tag = `W/"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  return holdsIfNoneMatch(ifNoneMatch, tag) ? jsonResponse(200, body, { ETag: tag }) : notModifiedResponse(tag)
}
