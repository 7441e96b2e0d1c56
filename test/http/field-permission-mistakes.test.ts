import Koa from 'koa'
import {
  Column,
  CreateDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { ConfigError, mountResources, type ResourceRegistration } from 'typeorm-resources'
import { permitAll } from '../support/access'
import { openDataSource } from '../world/world'

/** Mistakes in the option `fields`, which are reported at mount. */

class Contact {
  @Column({ length: 40 }) phone!: string
  @Column({ length: 40 }) city!: string
}

@Entity()
class Human {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40, unique: true }) email!: string
  @Column({ length: 40, unique: true }) login!: string
  @Column({ length: 40 }) password!: string
  @Column({ length: 40, select: false }) token!: string
  @Column(() => Contact) contact!: Contact
  @CreateDateColumn() created!: Date
  @OneToMany(
    () => Letter,
    ({ human }) => human,
  )
  letters!: Relation<Letter>[]
  @OneToMany(
    () => Gift,
    ({ human }) => human,
  )
  gifts!: Relation<Gift>[]
}

@Entity()
class Gift {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Human,
    ({ gifts }) => gifts,
  )
  human!: Relation<Human>
}

/** Refers to a column that is not the key. */
@Entity()
class Letter {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(
    () => Human,
    ({ letters }) => letters,
  )
  @JoinColumn({ name: 'human_email', referencedColumnName: 'email' })
  human!: Relation<Human>
  @Column({ length: 40 }) text!: string
}

/** Refers to a foreign key, and with it to the column of another entity. */
@Entity()
class Stamp {
  @PrimaryColumn({ length: 40, name: 'owner_email' }) owner!: string
  @OneToOne(() => Human)
  @JoinColumn({ name: 'owner_email', referencedColumnName: 'email' })
  human!: Relation<Human>
}

@Entity()
class Print {
  @PrimaryGeneratedColumn() id!: number
  @ManyToOne(() => Stamp) stamp!: Relation<Stamp>
}

const isPermitted = (): boolean => true
const isOther = (): boolean => true

async function mistakesOf(...resources: readonly object[]): Promise<readonly string[]> {
  const dataSource = await openDataSource([Human, Gift, Letter, Stamp, Print])
  try {
    mountResources(new Koa(), dataSource, { resources: resources as readonly ResourceRegistration[] })
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).mistakes
  } finally {
    await dataSource.destroy()
  }
}

const human = (fields: unknown, others: object = {}): object => ({ entity: Human, fields, ...others })
const withGifts = (fields: object): readonly object[] => [
  human(fields, { nested: ['gifts'] }),
  { entity: Gift, auth: permitAll },
]
const reading = { read: isPermitted }

test.each<[string, object, readonly string[]]>([
  [
    'all kinds together',
    human({
      emial: reading,
      email: { reed: true },
      login: { read: 'no', write: null },
      letters: isPermitted,
      id: reading,
    }),
    [
      'Human: unknown property "emial" in "fields"; properties: id, email, login, password, token, contact.phone, contact.city, created',
      'Human: unknown member "reed" in "fields.email"; members: read, write',
      'Human: "fields.login.read" must be true, false or a function, not "no"',
      'Human: "fields.login.write" must be true, false or a function, not null',
      'Human: "fields.letters" must be an object with "read" or "write", not a function',
      'Human: "id" is part of the key, which cannot be hidden: every record shows it as "id"; remove "read"',
    ],
  ],
  [
    'no object',
    human(['email']),
    ['Human: "fields" must be an object such as { price: { read: isManager } }, not ["email"]'],
  ],
  [
    'a circular import of the option',
    human(undefined),
    [
      'Human: "fields" must be an object such as { price: { read: isManager } }, not undefined; check for a circular import',
    ],
  ],
  [
    'a circular import of functions',
    human({ email: { read: undefined }, contact: undefined }),
    [
      'Human: "fields.email.read" must be true, false or a function, not undefined; check for a circular import',
      'Human: "fields.contact" must be an object with "read" or "write", not undefined; check for a circular import',
    ],
  ],
  [
    'a hidden key',
    human({ id: { read: false, write: isPermitted } }),
    ['Human: "id" is part of the key, which cannot be hidden: every record shows it as "id"; remove "read"'],
  ],
  [
    'reading of what everybody is hidden from',
    human({ email: reading, 'contact.phone': reading, token: reading }, { exclude: ['email', 'contact'] }),
    ['email', 'contact.phone', 'token'].map(
      (property) =>
        `Human: "fields.${property}" has "read", but the property is hidden from everybody; remove "read", or show the property`,
    ),
  ],
  [
    'writing of what is read-only',
    human({ email: { write: isPermitted }, contact: { write: true } }, { readOnly: ['email', 'contact'] }),
    ['email', 'contact'].map(
      (property) =>
        `Human: "fields.${property}" has "write", but the property is in "readOnly"; remove it from one of them`,
    ),
  ],
  [
    'writing of a relation to many',
    human({ letters: { read: isPermitted, write: isPermitted } }),
    [
      'Human: "fields.letters" has "write", but bodies cannot contain this relation to many; add it to "nested", or remove "write"',
    ],
  ],
  ...[
    { read: isPermitted, write: true },
    { read: false, write: true },
    { read: false, write: isPermitted },
  ].map((gifts): [string, object, readonly string[]] => [
    `writing of a relation to many that may not be read: ${gifts.read} ${gifts.write}`,
    withGifts({ gifts }),
    [
      'Human: "fields.gifts" has "write", but principals who may not read a relation to many cannot write it; remove "write"',
    ],
  ]),
])('Field permissions: mistakes are reported at mount: %s', async (_, resource, expected) => {
  const found = await mistakesOf(...[resource].flat())
  // The other legs declare the columns in another order.
  const sorted = (texts: readonly string[]): readonly string[] =>
    texts.map((text) =>
      text.replace(
        /(; properties: )(.*)/,
        (_all, start: string, names: string) => start + names.split(', ').sort().join(', '),
      ),
    )
  expect(sorted(found)).toEqual(sorted(expected))
})

test.each<[string, readonly object[]]>([
  ['no restriction', [human({ email: { read: true, write: isPermitted }, id: { write: isPermitted } })]],
  ['permissions of hidden fields to write', [human({ email: { write: isPermitted } }, { exclude: ['email'] })]],
  ['a part of an embedded entity that is excluded', [human({ contact: reading }, { exclude: ['contact.phone'] })]],
  ['permissions of a relation to many', [...withGifts({ gifts: { read: isPermitted, write: isOther } })]],
  ['the same function on both sides', [human({ email: reading }), { entity: Letter, fields: { human: reading } }]],
  ['a foreign key that is excluded', [human({ email: reading }), { entity: Letter, exclude: ['human'] }]],
  [
    'a foreign key that nobody may read',
    [human({ email: reading }), { entity: Letter, fields: { human: { read: false } } }],
  ],
  [
    'a column that nobody may read',
    [human({ email: { read: false } }), { entity: Letter, fields: { human: { read: false } } }],
  ],
])('Field permissions: %s is no mistake', async (_, resources) => {
  expect(await mistakesOf(...resources)).toEqual([])
})

const refers = (entity: string, property: string, solutions: string): string =>
  `${entity}: "${property}" would show the values of Human.email to principals who may not read that field, because it ` +
  `refers to it: refer to a column that is shown ("referencedColumnName")${solutions}`
const sameFunction = (property: string): string => `, or give "${property}" the same "read" function in "fields"`

test.each<[string, readonly object[], readonly string[]]>([
  ['everybody', [{ entity: Letter }], [refers('Letter', 'human', sameFunction('human'))]],
  [
    'principals with another permission',
    [{ entity: Letter, fields: { human: { read: isOther } } }],
    [refers('Letter', 'human', sameFunction('human'))],
  ],
  ['everybody as a key', [{ entity: Stamp }], [expect.stringContaining('would show the values of Human.email')]],
  ['everybody through another foreign key', [{ entity: Print }], [refers('Print', 'stamp', sameFunction('stamp'))]],
])('Field permissions: a foreign key must not show restricted values to %s', async (_, resources, expected) => {
  expect(await mistakesOf(human({ email: reading }), ...resources)).toEqual(expected)
})

test('Field permissions: a foreign key must not show values that nobody may read', async () => {
  const [mistake, ...others] = await mistakesOf(human({ email: { read: false } }), { entity: Letter })
  expect(others).toEqual([])
  expect(mistake).toContain('Letter: "human" would show the values of Human.email, which is hidden')
})
