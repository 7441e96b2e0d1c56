/** Names of the functions that `aggregate` can compute of the values of a field. */
export const fieldFunctions = ['sum', 'avg', 'min', 'max', 'count_distinct'] as const
