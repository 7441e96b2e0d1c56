export function findProgram(name: string): string | undefined
export function places(): readonly string[]
