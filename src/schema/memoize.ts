/**
 * What is compiled from something of the registry: once, when it is first asked for, and forgotten with it.
 * @param build told the thing itself, and what else it needs, which is always the same for it
 */
export function memoize<Key extends object, Others extends readonly unknown[], Built extends object>(
  build: (key: Key, ...others: Others) => Built,
): (key: Key, ...others: Others) => Built {
  const memory = new WeakMap<Key, Built>()
  return (key, ...others) => {
    const known = memory.get(key)
    if (known !== undefined) return known
    const built = build(key, ...others)
    memory.set(key, built)
    return built
  }
}
