export function findProgram(name: string): string | undefined
export function searchPath(): readonly string[]
