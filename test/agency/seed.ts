import type { DataSource } from 'typeorm'
import { Diary, Entrance, Job, Remark, Skill, Worker } from './entities'

/** Fills the database. @param secret changes the values of the fields that only some persons may read */
export async function seedAgency(dataSource: DataSource, secret = 0): Promise<void> {
  const save = (entity: new () => object, rows: readonly object[]): Promise<unknown> =>
    dataSource.getRepository<object>(entity).save([...rows])
  await save(Skill, [
    { id: 1, label: 'welding' },
    { id: 2, label: 'painting' },
  ])
  const workers = [1, 2, 3, 4].map((id) => ({
    id,
    name: `Worker ${id}`,
    hourlyRate: 20 + ((id * 7 + secret * 3) % 5),
    pin: `pin-${id + secret}`,
    badge: `badge-${id + secret}`,
    address: { city: id < 3 ? 'Rome' : 'Oslo', phone: `phone-${(id + secret) % 3}` },
    bank: { iban: `iban-${(id + secret) % 4}`, holder: secret === 0 ? `holder-${id}` : null },
  }))
  await save(Worker, workers)
  const mentors = secret === 0 ? { 2: 1, 3: 1 } : { 3: 2, 4: 2 }
  const skills = secret === 0 ? { 1: [1, 2], 3: [2] } : { 2: [1], 3: [1] }
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
    { id: 1, place: 'north', holder: { badge: `badge-${1 + secret}` } },
    { id: 2, place: 'south', holder: secret === 0 ? null : { badge: 'badge-3' } },
  ])
  await save(Diary, [
    { id: 1, text: 'sun', mood: 7 + secret, person: 2 },
    { id: 2, text: 'rain', mood: 2 + secret, person: 3 },
  ])
}
