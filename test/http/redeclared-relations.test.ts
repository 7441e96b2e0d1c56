import {
  ChildEntity,
  Column,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  PrimaryGeneratedColumn,
  type Relation,
  TableInheritance,
} from 'typeorm'
import { ConfigError, Resource } from 'typeorm-resources'
import { permitAll } from '../support/access'
import { openWorld } from '../world/world'

/**
 * Single-table inheritance: two classes declare the same relation with different targets. A filter through it would read
 * the table of one target by the fields that the other one shows.
 */

@Entity()
@Resource({ auth: permitAll })
class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) word!: string
}

@Entity()
@Resource({ auth: permitAll, exclude: ['word'] })
class Vault {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) word!: string
}

@Entity()
@Resource({ auth: permitAll })
@TableInheritance({ column: { type: 'varchar', length: 20, name: 'kind' } })
class Link {
  @PrimaryGeneratedColumn() id!: number
}

@ChildEntity('note')
@Resource({ auth: permitAll })
class NoteLink extends Link {
  @ManyToOne(() => Note, { nullable: true, createForeignKeyConstraints: false }) target!: Relation<Note> | null
  @ManyToMany(() => Note) @JoinTable({ name: 'link_others' }) others!: Relation<Note>[]
  @ManyToOne(() => Note, { nullable: true, createForeignKeyConstraints: false }) same!: Relation<Note> | null
}

@ChildEntity('vault')
@Resource({ auth: permitAll })
class VaultLink extends Link {
  @ManyToOne(() => Vault, { nullable: true, createForeignKeyConstraints: false }) target!: Relation<Vault> | null
  @ManyToMany(() => Vault) @JoinTable({ name: 'link_others' }) others!: Relation<Vault>[]
  @ManyToOne(() => Note, { nullable: true, createForeignKeyConstraints: false }) same!: Relation<Note> | null
}

test('Checks at mount: relations of one name and table that lead to different entities are reported', async () => {
  const mounting = openWorld({ entities: [Note, Vault, Link, NoteLink, VaultLink], columnOrder: 0 })
  const error = await mounting.then(
    ({ close }) => close(),
    (reason: unknown) => reason,
  )
  const advice = (name: string): string =>
    `VaultLink: "${name}" leads to Vault, but another class in the same table declares "${name}" too, and there it ` +
    'leads to Note: rename one of the properties'
  expect(error).toBeInstanceOf(ConfigError)
  expect((error as ConfigError).mistakes).toEqual([advice('target'), advice('others')])
})
