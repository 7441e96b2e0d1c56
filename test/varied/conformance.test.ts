import { testConformance } from '../conformance/suite'
import { entities, Message, Note, User } from '../world/entities'
import { addHiddenColumns, changeKeyType, keyTypes, pick, variedSeed as seed, unusualNames } from '../world/vary'
import { openWorld, seedWorld, type World } from '../world/world'
import { type Keyed, KeyMap, type KeyTypes } from './keys'

/** The conformance suite with varied declarations of entities: types of keys, names, hidden columns and column orders. */

const typeOf = (name: Keyed): KeyTypes[Keyed] => pick(keyTypes, seed, name)
const types: KeyTypes = { user: typeOf('user'), note: typeOf('note'), message: typeOf('message') }
const keys = new KeyMap(types)

changeKeyType(User, types.user)
changeKeyType(Note, types.note)
changeKeyType(Message, types.message)
addHiddenColumns(entities)

let world: World | undefined
beforeAll(async () => {
  world = await openWorld({
    source: { namingStrategy: unusualNames(seed) },
    seed: (dataSource) => seedWorld(dataSource, keys.value),
    columnOrder: seed,
  })
})
afterAll(async () => {
  await world?.close()
  expect(world?.faults ?? []).toEqual([])
})

describe(`TEST_SEED=${seed}: keys ${Object.entries(types).map((entry) => entry.join(' '))}`, () => {
  testConformance(() => world?.url ?? '', keys)
})
