/**
 * Measures how much longer the compiler takes for a program with the typed client, which has 200 entities and uses all of them:
 * `npm run bench:types`.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { median } from './report'

const root = resolve(__dirname, '../..')
/** Inside the project, so that the program can import the package by its name. */
const folder = join(root, 'bench/data/client-types')
const count = 200
const pairs = Number(process.env['PAIRS'] ?? 5)
/** Permitted difference, in milliseconds. */
const maxDifference = 2_000

const compilers = [
  ['TypeScript 7', join(root, 'node_modules/typescript/bin/tsc')],
  ['TypeScript 5.9', join(root, 'test/tools/node_modules/typescript/bin/tsc')],
] as const

/** Class with two relations to one and two to many: paths of up to three relations reach 84 relations. */
const entity = (index: number): string => `
@Entity()
export class Thing${index} {
  @PrimaryGeneratedColumn() id!: number
  @Column() name${index}!: string
  @Column({ type: 'varchar', nullable: true }) note${index}!: string | null
  @Column() amount${index}!: number
  @Column({ nullable: true }) rank!: number
  @Column() open!: boolean
  @CreateDateColumn() created!: Date
  @Column({ type: 'simple-enum', enum: ['a', 'b', 'c'] }) kind!: 'a' | 'b' | 'c'
  @ManyToOne('Thing${first(index)}') first!: Relation<Thing${first(index)}>
  @ManyToOne('Thing${second(index)}', { nullable: true }) second!: Relation<Thing${second(index)}> | null
  @ManyToMany('Thing${many(index)}') many!: Relation<Thing${many(index)}>[]
  @ManyToMany('Thing${others(index)}') others!: Relation<Thing${others(index)}>[]
}`
const first = (index: number): number => (index * 7 + 1) % count
const second = (index: number): number => (index * 3 + 2) % count
const many = (index: number): number => (index * 5 + 3) % count
const others = (index: number): number => (index * 11 + 4) % count

const calls = (index: number): string => `
export async function use${index}(): Promise<void> {
  const { objects } = await api.thing${index}.list(
    { amount${index}__gte: 5, kind__in: ['a'], first__name${first(index)}__like: 'a%', many__first__open: true },
    { ordering: ['-created', 'second'], limit: 5 },
  )
  for await (const { second_id } of api.thing${index}.all({ created__lt: new Date() })) console.log(second_id)
  for await (const { rank } of api.thing${index}.stream({ open: true }, { fields: ['rank'] })) console.log(rank)
  const groups = await api.thing${index}.aggregate(
    { open: true },
    {
      functions: ['count', 'amount${index}__sum', 'first__rank__avg'],
      by: ['kind', 'second__kind', 'created__week'],
      having: { count__gte: 2 },
      ordering: '-count',
    },
  )
  console.log(groups.objects.map(({ count, created__week }) => [count, created__week]))
  const made = await api.thing${index}.create({ name${index}: 'x', first_id: 5, created: new Date() })
  await api.thing${index}.update(made.id, { open: objects.length > 0, second_id: null })
}`

const forEach = <T>(make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))

function generate(): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const classes = forEach((index) => `Thing${index}`).join(', ')
  const typeorm = 'Column, CreateDateColumn, Entity, ManyToMany, ManyToOne, PrimaryGeneratedColumn, type Relation'
  writeFileSync(join(folder, 'entities.ts'), `import { ${typeorm} } from 'typeorm'\n${forEach(entity).join('')}\n`)
  const head = `import type { ${classes} } from './entities.js'\nexport type Every = [${classes}]\n`
  writeFileSync(join(folder, 'without.ts'), head)
  const resources = forEach((index) => `thing${index}: Thing${index}`).join('; ')
  writeFileSync(
    join(folder, 'with.ts'),
    `${head}import { createClient } from 'typeorm-resources/client'
const api = createClient<{ ${resources} }>('/api')
${forEach(calls).join('')}\n`,
  )
  const compilerOptions = { target: 'es2022', module: 'node20', strict: true, noEmit: true, skipLibCheck: true }
  const options = { ...compilerOptions, lib: ['es2023', 'dom'], types: [], experimentalDecorators: true }
  for (const name of ['with', 'without']) {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ compilerOptions: options, files: [`${name}.ts`] }))
  }
}

/** Runs a compiler. @returns its duration, in milliseconds */
function time(compiler: string, program: 'with' | 'without'): number {
  const start = performance.now()
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', join(folder, `${program}.json`)], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stdout.slice(0, 2_000))
  return performance.now() - start
}

generate()
for (const [name, compiler] of compilers) {
  if (!existsSync(compiler)) continue
  const runs = Array.from({ length: pairs }, () => ({
    without: time(compiler, 'without'),
    with: time(compiler, 'with'),
  }))
  const more = median(runs.map((run) => run.with - run.without))
  const [without, with_] = [median(runs.map((run) => run.without)), median(runs.map((run) => run.with))]
  console.log(`${name}: ${Math.round(without)} ms without, ${Math.round(with_)} ms with, ${Math.round(more)} ms more`)
  if (more >= maxDifference) process.exitCode = 1
}
