/**
 * What is compiled from something of the registry: once, when it is first asked for, and forgotten with it.
 * @param build told the thing itself, and what else it needs, which is always the same for it
 */
export function onceFor<Key extends object, Others extends readonly unknown[], Built>(
  build: (key: Key, ...others: Others) => Built,
): (key: Key, ...others: Others) => Built {
  const built = new WeakMap<Key, { readonly of: Built }>()
  return (key, ...others) => {
    const known = built.get(key) ?? { of: build(key, ...others) }
    if (!built.has(key)) built.set(key, known)
    return known.of
  }
}
