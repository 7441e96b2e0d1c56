import type { DataSource } from 'typeorm'
import { Diary, Entrance, Job, Remark, Skill, Worker } from './entities'

/** The fields whose values differ between two databases. */
export type Differing = (property: string) => boolean

/** Fills the database. @param differs the fields that have other values than by default */
export async function seedAgency(dataSource: DataSource, differs: Differing = () => false): Promise<void> {
  const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    dataSource.getRepository<object>(entity).save([...rows])
  const shift = (property: string): number => (differs(property) ? 1 : 0)
  await save(Skill, [
    { id: 1, label: 'welding' },
    { id: 2, label: 'painting' },
  ])
  const workers = [1, 2, 3, 4].map((id) => ({
    id,
    name: `Worker ${id}`,
    hourlyRate: 20 + ((id * 7 + shift('hourlyRate') * 3) % 5),
    pin: `pin-${id + shift('pin')}`,
    badge: `badge-${id + shift('badge')}`,
    address: { city: id < 3 ? 'Rome' : 'Oslo', phone: `phone-${(id + shift('phone')) % 3}` },
    bank: { iban: `iban-${(id + shift('bank')) % 4}`, holder: differs('bank') ? null : `holder-${id}` },
  }))
  await save(Worker, workers)
  const mentors = differs('mentor') ? { 3: 2, 4: 2 } : { 2: 1, 3: 1 }
  const skills = differs('skills') ? { 2: [1], 3: [1] } : { 1: [1, 2], 3: [2] }
  for (const [id, mentor] of Object.entries(mentors)) await save(Worker, [{ id: Number(id), mentor: { id: mentor } }])
  for (const [id, own] of Object.entries(skills)) {
    await save(Worker, [{ id: Number(id), skills: own.map((skill) => ({ id: skill })) }])
  }
  await save(Job, [
    { id: 1, title: 'Bridge', worker: { id: 1 } },
    { id: 2, title: 'Tower', worker: { id: 2 } },
    { id: 3, title: 'Tunnel', worker: null },
  ])
  await save(Remark, [
    { id: 1, text: 'fast', worker: { id: 1 } },
    { id: 2, text: 'late', worker: { id: 3 } },
  ])
  await save(Entrance, [
    { id: 1, place: 'north', holder: { badge: `badge-${1 + shift('badge')}` } },
    { id: 2, place: 'south', holder: differs('badge') ? { badge: 'badge-3' } : null },
  ])
  await save(Diary, [
    { id: 1, text: 'sun', mood: 7 + shift('mood'), person: 2 },
    { id: 2, text: 'rain', mood: 2 + shift('mood'), person: 3 },
  ])
}
