import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Root directory of the repository. */
export const root = resolve(__dirname, '..')
/** Reads a file, whose path is relative to the root. */
export const read = (page: string): string => readFileSync(join(root, page), 'utf8')

/** A command of a `console` block and its expected output, in which `…` stands for any text. */
export interface Command {
  readonly line: string
  readonly expected: string
}

/** A program of a page: the text of its `ts` blocks, and the commands of the `console` blocks that follow them. */
export interface Program {
  /** `main`, or the name in the comment on the first line of a block: `// cors.mts`. */
  readonly name: string
  readonly text: string
  readonly commands: readonly Command[]
}

/**
 * The programs of a page, in order. A TypeScript block without a name belongs to `main`, a command to the program of the block before it.
 */
export function programsOf(page: string): readonly Program[] {
  const programs = new Map<string, Program>()
  let name = 'main'
  for (const [, language, block = ''] of read(page).matchAll(/^```(ts|console)\n(.*?)^```/gms)) {
    if (language === 'ts') name = /^\/\/ (\S+)\.mts$/m.exec(block.split('\n')[0] ?? '')?.[1] ?? 'main'
    const { text, commands } = programs.get(name) ?? { text: '', commands: [] }
    const more = language === 'ts' ? { text: text + block } : { commands: [...commands, ...commandsIn(block)] }
    programs.set(name, { name, text, commands, ...more })
  }
  return [...programs.values()]
}

function commandsIn(block: string): readonly Command[] {
  const texts = block.split(/^\$ /m).slice(1)
  return texts.map((text) => {
    const [line = '', ...expected] = text.trimEnd().split('\n')
    return { line, expected: expected.join('\n') }
  })
}
