import { type FieldErrors, ValueError } from '../errors'
import type { Limits } from '../request/limits'
import type { Filter } from '../request/list-request'
import { isPattern, parseOperand } from './operand'
import type { Outline } from './outline'
import type { SelectPlan } from './plan'

/**
 * The values that an outline is asked with; those of one name are gathered (D17).
 * @param errors receives every value that cannot be answered
 */
export function planValues(
  outline: Outline,
  filters: readonly Filter[],
  limits: Limits,
  errors: FieldErrors,
): SelectPlan['values'] {
  const values: (readonly unknown[])[] = []
  let patterns = 0
  filters.forEach(({ name, value }, index) => {
    const comparison = outline.filters[index]
    if (comparison === undefined) return
    errors.try(name, () => {
      const { on, operator, slot } = comparison
      if (isPattern(operator)) patterns += value.length
      if (patterns > limits.allPatterns) {
        throw new ValueError(`is one pattern too many: all together may have ${limits.allPatterns} characters`)
      }
      const parsed = parseOperand(on.field, operator, value, limits)
      const members = values[slot]?.concat(parsed) ?? parsed
      values[slot] = members
      if (members.length > limits.members) {
        throw new ValueError(`may have ${limits.members} members, this has ${members.length}`)
      }
    })
  })
  return values
}
