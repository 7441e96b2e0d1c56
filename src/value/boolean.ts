import { equalityOperators, refuse, type ValueType } from './value-type'

const booleanByText: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

export const booleanType: ValueType = {
  name: 'boolean',
  description: 'true or false',
  schema: { type: 'boolean' },
  operators: equalityOperators,
  exact: true,
  fromText: (text) => booleanByText.get(text.toLowerCase()) ?? refuse('true or false (or 1 or 0)'),
  fromJson: (json) => (typeof json === 'boolean' ? json : refuse(booleanType.description)),
  toJson: Boolean,
}
