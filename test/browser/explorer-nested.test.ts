import type { Locator, Page } from 'playwright-core'
import {
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { Resource } from 'typeorm-resources'
import { entities } from '../../sample/entities'
import { permitAll } from '../support/access'
import { nestedEntities } from '../support/nested'
import { seedSample } from '../world/sample'
import { openWorld, type World } from '../world/world'
import { barriers, eventually, Visitor } from './browser'
import { explorerPage } from './explorer-page'

/** Related records and their keys in the explorer's forms. */

@Entity()
@Resource({ auth: permitAll, nested: ['items', { field: 'labels', ids: 'marked_with' }] })
class Order {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) customer!: string
  @OneToMany(
    () => Item,
    (item) => item.order,
  )
  items!: Relation<Item>[]
  @ManyToMany(() => Label)
  @JoinTable()
  labels!: Relation<Label>[]
}

@Entity()
@Resource({ auth: permitAll })
class Item {
  @PrimaryGeneratedColumn() id!: number
  @Column('int') quantity!: number
  @Column({ length: 20, default: '' }) remark!: string
  @ManyToOne(() => Article, { nullable: false }) article!: Relation<Article>
  @ManyToOne(
    () => Order,
    (order) => order.items,
    { nullable: false, onDelete: 'CASCADE' },
  )
  order!: Relation<Order>
}

@Entity()
@Resource({ auth: permitAll })
class Article {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({ auth: permitAll })
class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

let world: World
let visitor: Visitor
let page: Page

beforeAll(async () => {
  const own = [Order, Item, Article, Label]
  world = await openWorld({ entities: [...entities, ...nestedEntities, ...own], seed: seedSample })
  const { manager } = world.dataSource
  await manager.insert(
    Article,
    ['Lamp', 'Chair', 'Table'].map((name) => ({ name })),
  )
  await manager.insert(
    Label,
    ['urgent', 'abroad', 'gift'].map((name) => ({ name })),
  )
  visitor = await Visitor.arrive()
})
beforeEach(async () => {
  const { manager } = world.dataSource
  await manager.createQueryBuilder().delete().from(Item).execute()
  await manager.save(Order, { id: 1, customer: 'Ann', labels: [{ id: 1 }, { id: 2 }] })
  await manager.insert(
    Item,
    [5, 6, 7].map((quantity, index) => ({
      id: index + 1,
      quantity,
      remark: `Remark ${index + 1}`,
      article: { id: index + 1 },
      order: { id: 1 },
    })),
  )
})
afterEach(async () => expect(await visitor.finish()).toEqual([]))
afterAll(async () => {
  await visitor.leave()
  await world.close()
})

const { button, heading, request, expectInput, expectNone } = explorerPage(() => page)

async function open(fragment: string): Promise<void> {
  page = await visitor.open(`${world.url}/api/${fragment}`)
}
const input = (name: string, area: Locator | Page = page): Locator =>
  area.getByLabel(new RegExp(`^${name}( required)?$`))
const line = (name: string): Locator => page.getByRole('group', { name, exact: true })
const chosen = (name: string): Locator => page.getByRole('list', { name: `Chosen for ${name}` }).getByRole('listitem')

/** Items of an order, without their ids. */
const itemsOf = async (id: number): Promise<readonly unknown[]> => {
  const found = await world.dataSource
    .getRepository(Item)
    .find({ where: { order: { id } }, relations: { article: true }, order: { id: 'ASC' } })
  return found.map(({ quantity, remark, article }) => [quantity, remark, article.name])
}
const labelsOf = async (id: number): Promise<readonly string[]> => {
  const order = await world.dataSource
    .getRepository(Order)
    .findOneOrFail({ where: { id }, relations: { labels: true } })
  return order.labels.map(({ name }) => name).toSorted()
}

test('a record is created with rows and with records that are searched by name', async () => {
  await open('#/order/+')
  await input('customer').fill('Bob')
  await button('Add to items').click()
  await input('quantity', line('items 1')).and(page.locator(':focus')).waitFor()
  await input('quantity', line('items 1')).fill('3')
  await input('article_id', line('items 1')).fill('cha')
  await page.getByRole('option', { name: 'Chair' }).click()
  await input('marked_with').fill('gif')
  await page.getByRole('option', { name: 'gift' }).click()
  await expectInput(input('marked_with'), '')
  expect(await chosen('marked_with').allInnerTexts()).toEqual(['gift\n3\n×'])
  expect(await barriers(page)).toEqual([])
  await request().getByText('{"customer":"Bob","items":[{"quantity":3,"article_id":2}],"marked_with":[3]}').waitFor()
  await button('Create').click()
  await heading(/^order \d+ Bob/).waitFor()
  const id = Number(new URL(page.url()).hash.split('/').at(-1))
  expect(await itemsOf(id)).toEqual([[3, '', 'Chair']])
  expect(await labelsOf(id)).toEqual(['gift'])
})

test('rows of a record are changed, added and removed, and only what was edited is sent', async () => {
  await open('#/order/1/edit')
  await expectInput(input('article_id', line('items 2')), 'Chair')
  await input('quantity', line('items 2')).fill('60')
  await request().getByText(`curl -X PATCH`).waitFor()
  await request().getByText('{"items":[{"id":1},{"id":2,"quantity":60},{"id":3}]}').waitFor()
  await button('Remove items 1').click()
  await button('Add to items').and(page.locator(':focus')).waitFor()
  await expectInput(input('quantity', line('items 1')), '60')
  await page.keyboard.press('Enter')
  await input('quantity', line('items 3')).fill('1')
  await input('article_id', line('items 3')).fill('3')
  await button('Save').click()
  await heading('order 1 Ann').waitFor()
  expect(await itemsOf(1)).toEqual([
    [60, 'Remark 2', 'Chair'],
    [7, 'Remark 3', 'Table'],
    [1, '', 'Table'],
  ])
  expect(await labelsOf(1)).toEqual(['abroad', 'urgent'])
})

test('a row that another user has added is kept, unless the form removes a row', async () => {
  await open('#/order/1/edit')
  await input('quantity', line('items 1')).fill('50')
  await world.dataSource.getRepository(Item).insert({ quantity: 9, article: { id: 1 }, order: { id: 1 } })
  await button('Save').click()
  await heading('order 1 Ann').waitFor()
  expect((await itemsOf(1)).map((item) => (item as unknown[])[0])).toEqual([50, 6, 7, 9])
})

test('errors of the service are shown at the inputs of their rows, also after another row was removed', async () => {
  await open('#/order/1/edit')
  await button('Add to items').click()
  const quantity = (name: string): Locator => input('quantity', line(name))
  const article = (name: string): Locator => input('article_id', line(name))
  await quantity('items 4').fill('1')
  await article('items 4').fill('99')
  await button('Save').click()
  await line('items 4').getByText('article_id points to no article', { exact: true }).waitFor()
  await article('items 4').and(page.locator('[aria-invalid=true]')).waitFor()
  expect(await page.locator('[aria-invalid=true]').count()).toBe(1)
  expect(await barriers(page)).toEqual([])
  await button('Remove items 1').click()
  await article('items 3').and(page.locator('[aria-invalid=true]')).waitFor()
  await article('items 3').fill('1')
  // Without a request.
  await quantity('items 3').fill('many')
  await button('Save').click()
  await line('items 3').getByText('quantity must be an integer', { exact: true }).waitFor()
  await quantity('items 3').fill('4')
  await button('Save').click()
  await heading('order 1 Ann').waitFor()
  expect((await itemsOf(1)).map((item) => (item as unknown[])[0])).toEqual([6, 7, 4])
})

test('keys are added and removed with the keyboard, and a typed key that does not exist is reported', async () => {
  await open('#/order/1/edit')
  await eventually(async () =>
    expect(await chosen('marked_with').allInnerTexts()).toEqual(['urgent\n1\n×', 'abroad\n2\n×']),
  )
  await button('Remove urgent from marked_with').focus()
  await page.keyboard.press('Enter')
  await input('marked_with').and(page.locator(':focus')).waitFor()
  await page.keyboard.type('gi')
  await page.getByRole('option', { name: 'gift' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await button('Remove gift from marked_with').waitFor()
  await page.keyboard.type('99')
  await page.getByText('No label has this name.').waitFor()
  await page.keyboard.press('Enter')
  await button('Remove 99 from marked_with').waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('marked_with[2] points to no label', { exact: true }).waitFor()
  expect(await barriers(page)).toEqual([])
  await button('Remove 99 from marked_with').click()
  await page.keyboard.press('Enter')
  await heading('order 1 Ann').waitFor()
  expect(await labelsOf(1)).toEqual(['abroad', 'gift'])
  expect(await itemsOf(1)).toHaveLength(3)
})

test('the first input of an added row has the focus when the row is shown, so that no later input loses it', async () => {
  await open('#/order/+')
  await button('Add to items').focus()
  const focused = await page.evaluate(`new Promise((resolve) => {
    new MutationObserver(() => {
      const first = document.querySelector('.line input')
      if (first !== null) resolve(document.activeElement === first)
    }).observe(document, { childList: true, subtree: true })
    document.activeElement.click()
  })`)
  expect(focused).toBe(true)
})

test('the buttons below an input do not move when it loses the focus, so that a click does not miss them', async () => {
  await open('#/order/+')
  await button('Add to items').click()
  const top = async (): Promise<number | undefined> => (await button('Create').boundingBox())?.y
  for (const field of ['article_id', 'marked_with']) {
    await input(field).fill('9')
    await page.getByText(/^No (article|label) has this name/).waitFor()
    const before = await top()
    await input('customer').focus()
    await expectNone(page.getByText(/^No (article|label) has this name/))
    expect(await top()).toBe(before)
  }
  await button('Remove 9 from marked_with').waitFor()
})

test('rows of a new record have rows and keys of their own', async () => {
  await open('#/invoice/+')
  await input('title').fill('July')
  await button('Add to lines').click()
  const first = line('lines 1')
  await input('position', first).fill('1')
  await input('text', first).fill('Too long')
  await first.getByRole('button', { name: 'Add to parts' }).click()
  await button('Create').click()
  await first.getByText('text must have at most 5 characters, not 8', { exact: true }).waitFor()
  await line('parts 1').getByText('name is required', { exact: true }).waitFor()
  await input('text', first).fill('Ink')
  await input('name', line('parts 1')).fill('Cap')
  await button('Create').click()
  await heading(/^invoice \d+ July/).waitFor()
  expect(await world.sql('SELECT name FROM part')).toEqual([{ name: 'Cap' }])
})

test('a form does not offer to edit more related records than it has read', async () => {
  const items = Array.from({ length: 98 }, () => ({ quantity: 1, article: { id: 1 }, order: { id: 1 } }))
  await world.dataSource.getRepository(Item).insert(items)
  await open('#/order/1/edit')
  await page.getByText('Saving does not change items.', { exact: true }).waitFor()
  await expectNone(button('Add to items'))
  await input('customer').fill('Cleo')
  await button('Save').click()
  await heading('order 1 Cleo').waitFor()
  expect(await itemsOf(1)).toHaveLength(101)
})

test.each([
  ['light', 320],
  ['dark', 1280],
] as const)('rows and keys fit a %s window of %d px', async (colorScheme, width) => {
  page = await visitor.open(`${world.url}/api/#/order/1/edit`, { colorScheme, viewport: { width, height: 640 } })
  await button('Add to items').click()
  await button('Remove abroad from marked_with').waitFor()
  await button('Save').click()
  await line('items 4').getByText('quantity is required', { exact: true }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  expect(await barriers(page)).toEqual([])
})
