import { BeforeUpdate, ChildEntity, Column, Entity, ManyToOne, PrimaryGeneratedColumn, TableInheritance } from 'typeorm'
import { ConfigError, Resource } from 'typeorm-resources'
import { apiOf } from '../client'
import { permitAll } from '../support/access'
import { openWorld } from '../world/world'

/** Single-table inheritance: a property that is no column has the name of the discriminator column. */

class Size {
  @Column({ type: 'integer' }) width!: number
}

@Entity()
@Resource({ auth: permitAll, bulk: true })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'size' } })
class Box {
  @PrimaryGeneratedColumn() id!: number
  @Column(() => Size) size!: Size
  @BeforeUpdate() prepare(): void {}
}

@ChildEntity('crate')
@Resource({ auth: permitAll, bulk: true })
class Crate extends Box {}

@Entity()
@Resource({ auth: permitAll, bulk: true })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'shape' } })
class Sign {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  shape = 'of no column'
  @BeforeUpdate() prepare(): void {
    this.shape = 'changed by a listener'
  }
}

@ChildEntity('arrow')
@Resource({ auth: permitAll, bulk: true })
class Arrow extends Sign {}

@Entity()
@Resource({ auth: permitAll })
class Model {
  @PrimaryGeneratedColumn() id!: number
}

@Entity()
@Resource({ auth: permitAll })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'model' } })
class Vehicle {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Model) model!: Model
}

@ChildEntity('bus')
@Resource({ auth: permitAll })
class Bus extends Vehicle {}

test.each([
  ['crate', 'box', { size: { width: 1 } }, { size: { width: 2 } }],
  ['arrow', 'sign', { text: 'a' }, { text: 'b' }],
])('Entities that share a table: a write to %s keeps its type', async (child, parent, values, changes) => {
  const world = await openWorld({ entities: [Box, Crate, Sign, Arrow] })
  const { post, put, get, ids } = apiOf(() => world.url)
  expect([(await post(child, values)).status, (await post(child, [values, values])).status]).toEqual([201, 201])
  for (const path of [`${child}/1`, `${parent}/2`]) {
    const reply = await put(path, changes)
    expect([path, reply.status, reply.json()]).toMatchObject([path, 200, changes])
  }
  expect(await ids(`${child}/?ordering=id`)).toEqual([1, 2, 3])
  expect((await get(`${child}/2/`)).json()).toMatchObject(changes)
  await world.close()
  expect(world.faults).toEqual([])
})

test('Checks at mount: a foreign key whose relation has the name of the discriminator column is reported', async () => {
  const error = await openWorld({ entities: [Model, Vehicle, Bus] }).then(
    ({ close }) => close(),
    (reason: unknown) => reason,
  )
  const advice =
    '"model" is also the name of the discriminator column, so that TypeORM would write the foreign key into it: rename the ' +
    "property, or the column with @TableInheritance({ column: { name: '…' } })"
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as ConfigError).mistakes).toEqual([`Vehicle: ${advice}`, `Bus: ${advice}`])
})
