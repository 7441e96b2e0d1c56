/** Keys of two columns and their ids; docs/reference/keys.md shows this table. */
export const keysOfTwo: readonly (readonly [one: string, other: string, id: string, segment: string])[] = [
  ['north', 'apple', 'north,apple', 'north,apple'],
  ['a,b', 'c', 'a\\,b,c', 'a%5C,b,c'],
  ['a', 'b,c', 'a,b\\,c', 'a,b%5C,c'],
  ['back\\', 'x/y', 'back\\\\,x/y', 'back%5C%5C,x%2Fy'],
  ['é ü', '100%', 'é ü,100%', '%C3%A9%20%C3%BC,100%25'],
]
