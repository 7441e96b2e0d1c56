/** The five largest cities of Europe, and where bob has been: node sample/dist/client.mjs, while the sample runs. */
import { createClient } from 'typeorm-resources/client'
import type { City, Visit } from './entities.js'

const [url = 'http://127.0.0.1:3000'] = process.argv.slice(2)
const api = createClient<{ city: City; visit: Visit }>(`${url}/api`, { username: 'bob', password: 'bob-secret' })

const large = { country__region: 'Europe', population__gte: 1_000_000 }
const { objects } = await api.city.list(large, { ordering: '-population', limit: 5 })
for (const { name, population } of objects) console.log(name, population)

for await (const { city_id, visited } of api.visit.all({ user__username: 'bob' })) console.log(city_id, visited)
