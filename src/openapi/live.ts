import type { JsonSchema } from '../value/value-type'
import { errorResponses } from './responses'

/** Adds to the GET of a list or an item that it can be live (specification: Live lists). */
export function withEvents(described: JsonSchema): JsonSchema {
  const { parameters, responses } = described as {
    readonly parameters?: readonly JsonSchema[]
    readonly responses: JsonSchema
  }
  const page = responses['200'] as { readonly content?: JsonSchema }
  return {
    ...described,
    parameters: [...(parameters ?? []), lastEventId],
    responses: {
      ...responses,
      '200': { ...page, content: { ...page.content, 'text/event-stream': events } },
      ...errorResponses([429]),
    },
  }
}

const lastEventId: JsonSchema = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'Id of the last event that the client has received, for `text/event-stream`',
  schema: { type: 'string' },
}

const events: JsonSchema = {
  schema: {
    type: 'string',
    description:
      'Server-sent events: `reset` with the array of all records, `created` and `updated` with a record, `gone` with `{ "id": … }`.',
  },
}
