import type { Report } from '../errors'
import { type ListFormat, listFormats, type ResourceOptions } from '../resource'

/** Checks the option `formats`. @returns the formats in which lists are streamed */
export function buildFormats({ formats = false }: ResourceOptions, report: Report): readonly ListFormat[] {
  if (formats === true) return listFormats
  if (formats === false) return []
  const isFormat = (format: unknown): boolean => listFormats.some((known) => known === format)
  if (Array.isArray(formats) && formats.length > 0 && formats.every(isFormat)) return formats
  report(`"formats" must be true, false or an array of ${listFormats.join(', ')}, not ${JSON.stringify(formats)}`)
  return []
}
