import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(__dirname, '..')
export const read = (page: string): string => readFileSync(join(root, page), 'utf8')

/** A command of a `console` block, and what it must print; `…` stands for anything. */
export interface Command {
  readonly line: string
  readonly expected: string
}

/** A file of a page: its `ts` blocks, and the `console` blocks that come after them. */
export interface Program {
  /** `main`, or what the first line of a block says: `// cors.mts`. */
  readonly name: string
  readonly text: string
  readonly commands: readonly Command[]
}

/** The programs of a page in their order. A block of TypeScript without a name belongs to `main`, a command to the block before it. */
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
