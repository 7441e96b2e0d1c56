/** The pattern of `like` and `ilike` for texts that hold this one, whose `%`, `_` and `\` mean themselves. */
export function containing(text: string): string {
  return `%${escapePattern(text)}%`
}

export function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}
