/**
 * Caches the results of a function by the identity of its first argument. An entry is garbage-collected together with
 * that argument.
 * @param build called once for each key; the other arguments must always be the same for the same key
 */
export function memoize<Key extends object, Others extends readonly unknown[], Built extends object>(
  build: (key: Key, ...others: Others) => Built,
): (key: Key, ...others: Others) => Built {
  const cache = new WeakMap<Key, Built>()
  return (key, ...others) => {
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const built = build(key, ...others)
    cache.set(key, built)
    return built
  }
}
