import type { Middleware } from 'koa'
import { type ActionDescription, actionDescription } from '../openapi/custom-actions'

/**
 * Returns middleware that adds a custom action to the OpenAPI document, and does nothing when the action runs:
 * `mounted.router('task').post('/:id/publish/', describeAction({ summary: 'Publish a task' }), …)`.
 */
export function describeAction(description: ActionDescription): Middleware {
  const middleware: Middleware = (_, next) => next()
  return Object.assign(middleware, { [actionDescription]: description })
}
