import { IsIn, IsOptional, IsPositive, Length, Max, MaxLength, Min, ValidateIf } from 'class-validator'
import { Check, Column, Entity, PrimaryGeneratedColumn } from 'typeorm'
import { Resource } from 'typeorm-resources'
import { apiOf, send } from '../client'
import { permitAll } from '../support/access'
import { isMariadb, isSqlite } from '../world/leg'
import { openWorld, type World } from '../world/world'

/** Limits that CHECK constraints and decorators of `class-validator` declare, in the OpenAPI document and in errors. */

@Entity()
@Check('rated', 'rating BETWEEN 1 AND 5')
@Check('priced', '(price > 0 AND 100 >= price)')
@Check('graded', "grade IN ('a', 'b')")
@Check('marked', "mark IN ('a [old]', 'b  c')")
@Check('either', 'size > 3 OR size < -3')
@Check('compared', 'rating + size < 100')
@Resource({ auth: permitAll })
class Review {
  @PrimaryGeneratedColumn() id!: number
  @Column({ type: 'smallint', default: 1 }) rating!: number
  @Column({ type: 'integer', default: 50 }) @Min(10) price!: number
  @Column({ type: 'varchar', length: 5, default: 'a' }) grade!: string
  @Column({ type: 'varchar', length: 9, default: 'a [old]' }) mark!: string
  @Column({ type: 'integer', default: 4 }) size!: number
  @Column({ type: 'integer', default: 1 }) @IsPositive() @Max(9) stars!: number
  @Column({ type: 'varchar', length: 40, default: 'name' }) @Length(3, 20) name!: string
  @Column({ type: 'varchar', length: 40, nullable: true }) @IsOptional() @MaxLength(8) note!: string | null
  @Column({ type: 'varchar', length: 40, default: 'one' }) @IsIn(['one', 'two']) kind!: string
  @Column({ type: 'integer', default: 1 }) @ValidateIf(({ size }: Review) => size > 9) @Min(5) often!: number
  @Column({ type: 'decimal', precision: 5, scale: 2, default: 1, comment: 'In euros.' }) @IsOptional() tax!: string
}

let world: World
beforeAll(async () => {
  world = await openWorld({ entities: [Review] })
})
afterAll(async () => {
  await world.close()
  expect(world.faults).toEqual([])
})

const { post } = apiOf(() => world.url)

/** The least value of an integer column. */
const least = isSqlite ? Number.MIN_SAFE_INTEGER : -2147483648

/** Fields, the keywords of their schema, and its description. */
const described: readonly (readonly [field: string, keywords: object, description: string | undefined])[] = [
  ['rating', { minimum: 1, maximum: 5 }, 'At least 1 and at most 5.'],
  ['price', { minimum: 10, exclusiveMinimum: 0, maximum: 100 }, undefined],
  ['grade', { enum: ['a', 'b'] }, 'One of a, b.'],
  ['size', { minimum: least }, undefined],
  ['stars', { exclusiveMinimum: 0, maximum: 9 }, undefined],
  ['name', { minLength: 3, maxLength: 20 }, 'At least 3 characters long and at most 20 characters long.'],
  ['note', { maxLength: 8, type: ['string', 'null'] }, undefined],
  ['kind', { enum: ['one', 'two'] }, 'One of one, two.'],
  ['often', { minimum: least }, undefined],
  ['tax', { format: 'decimal' }, 'In euros.'],
]

test.each(['review.create', 'review.update'])('the schema %s has the declared limits', async (schema) => {
  const document = (await send(world.url, 'GET /api/openapi.json')).json() as { components: Schemas }
  const { properties } = document.components.schemas[schema] ?? { properties: {} }
  for (const [field, keywords, description] of described) {
    expect([field, properties[field]]).toMatchObject([field, description ? { ...keywords, description } : keywords])
  }
})

test('texts of a CHECK constraint with brackets or several spaces are not read', async () => {
  const document = (await send(world.url, 'GET /api/openapi.json')).json() as { components: Schemas }
  expect(document.components.schemas['review.create']?.properties['mark']).toMatchObject({ maxLength: 9 })
  expect(document.components.schemas['review.create']?.properties['mark']).not.toHaveProperty('enum')
})

interface Schemas {
  readonly schemas: Readonly<Record<string, { readonly properties: Readonly<Record<string, object>> }>>
}

/** On MySQL and MariaDB, TypeORM creates no CHECK constraints. */
const refusedByDatabase: readonly (readonly [body: object, field: string, message: string])[] = isMariadb
  ? []
  : [
      [{ rating: 9 }, 'rating', 'is not accepted by a constraint of the database; it must be at least 1 and at most 5'],
      [{ size: 0 }, 'size', 'is not accepted by a constraint of the database'],
    ]

/** Bodies, and the errors of their fields. */
test.each([
  ...refusedByDatabase,
  [{ stars: 10 }, 'stars', 'must not be greater than 9'] as const,
  [{ name: 'x' }, 'name', 'must be longer than or equal to 3 characters'] as const,
])('POST %j is refused, and the error names the limits', async (body, field, message) => {
  expect(await post('review', body)).toMatchObject({ status: 400 })
  expect((await post('review', body)).json()).toMatchObject({ errors: [{ field, message }] })
})
