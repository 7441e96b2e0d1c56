/** Pattern of `like` and `ilike` for texts that contain this one. `%`, `_` and `\` in it are matched literally. */
export function containing(text: string): string {
  return `%${escapePattern(text)}%`
}

/** Escapes `%`, `_` and `\` for patterns of `like` and `ilike`. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}
