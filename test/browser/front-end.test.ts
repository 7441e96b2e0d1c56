import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { hashPassword, Resource, UserAccount, userRule } from 'typeorm-resources'
import { staticFiles } from '../../sample/static-files'
import { openWorld, type World } from '../world/world'
import { eventually, Visitor } from './browser'

/** The page of docs/how-to/front-end.md. In this service, each user sees the projects whose owner they are. */

@Entity()
@UserAccount()
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() password!: string
}

@Entity()
@Resource({ auth: userRule(), scope: (me) => ({ owner: me.id }) })
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
  @ManyToOne(() => Person, { nullable: false }) owner!: Relation<Person>
}

@Entity()
@Resource({ auth: userRule(), scope: { through: 'project' } })
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @ManyToOne(() => Project, { nullable: false }) project!: Relation<Project>
}

const root = resolve(__dirname, '../..')
let folder: string
let world: World
let visitor: Visitor
let page: Page

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'front-end-'))
  const guide = readFileSync(join(root, 'docs/how-to/front-end.md'), 'utf8')
  for (const [, name = '', text = ''] of guide.matchAll(
    /^```\w+\n(?:\/\/|<!--) (\S+\.(?:ts|html))\b.*?\n(.*?)^```/gms,
  )) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const alias = { 'typeorm-resources-client': join(root, 'dist/client/index.js') }
  writeFileSync(join(folder, 'vite.config.mjs'), `export default ${JSON.stringify({ resolve: { alias } })}`)
  execFileSync(join(root, 'node_modules/.bin/vite'), ['build', '--logLevel', 'warn'], { cwd: folder, stdio: 'inherit' })
  world = await openWorld({
    entities: [Person, Project, Task],
    seed: async ({ manager }) => {
      for (const username of ['ann', 'bob'])
        await manager.insert(Person, { username, password: await hashPassword(username) })
      const projects = [
        { name: 'Atlas', owner: { id: 1 } },
        { name: 'Boreas', owner: { id: 1 } },
        { name: 'Saturn', owner: { id: 2 } },
      ]
      await manager.insert(Project, projects)
      await manager.insert(Task, { title: 'Draw', project: { id: 1 } })
    },
    before: (app) => void app.use(staticFiles('/', join(folder, 'dist'), 'front-end')),
  })
  visitor = await Visitor.arrive()
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

const button = (name: string): Locator => page.getByRole('button', { name, exact: true })
const expectTasks = (tasks: readonly string[]): Promise<void> =>
  eventually(async () => expect(await page.getByRole('listitem').allInnerTexts()).toEqual(tasks))

async function signIn(username: string, password = username): Promise<void> {
  await page.getByLabel('Name').fill(username)
  await page.getByLabel('Password').fill(password)
  await button('Sign in').click()
}

test('a task is added to the chosen project, and the form is empty then', async () => {
  page = await visitor.open(`${world.url}/`)
  await signIn('ann')
  await expectTasks(['Draw (Atlas)'])
  await page.getByLabel('Task').fill('Write')
  await page.getByLabel('Project').selectOption('Boreas')
  await button('Add').click()
  await expectTasks(['Draw (Atlas)', 'Write (Boreas)'])
  await eventually(async () => expect(await page.getByLabel('Task').inputValue()).toBe(''))
})

test('after a failed sign-in, nothing of the user before is visible', async () => {
  page = await visitor.open(`${world.url}/`)
  await signIn('ann')
  await button('Add').waitFor()
  await signIn('bob', 'wrong')
  await eventually(async () => expect(await page.getByRole('status').innerText()).not.toBe(''))
  await expectTasks([])
  expect(await button('Add').isVisible()).toBe(false)
  await signIn('bob')
  await button('Add').waitFor()
  await expectTasks([])
  expect(await page.getByLabel('Project').innerText()).toBe('Saturn')
})
