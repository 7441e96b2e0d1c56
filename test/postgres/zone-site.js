/**
 * Site in the time zone of this process: writes instants, and prints how they are shown and stored. The options of the data source are
 * the argument.
 */
require('reflect-metadata')
const { once } = require('node:events')
const Koa = require('koa')
const { DataSource, EntitySchema } = require('typeorm')
const { anonymous, mountResources } = require('typeorm-resources')

const unchanged = { to: (value) => value, from: (value) => value }
const columns = {
  local: { type: 'timestamp', nullable: true },
  zoned: { type: 'timestamptz', nullable: true },
  // The transformer does not determine the class of the property, and the schema does not record it.
  transformed: { type: 'timestamptz', nullable: true, transformer: unchanged },
}
const Moment = new EntitySchema({
  name: 'moment',
  columns: { id: { type: Number, primary: true, generated: true }, ...columns },
})

async function main({ options, instants }) {
  const dataSource = await new DataSource({ ...options, entities: [Moment], synchronize: true }).initialize()
  const app = new Koa()
  mountResources(app, dataSource, { resources: [{ entity: Moment, auth: () => anonymous }] })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/api/moment/`
  const fetchJson = async (path, init) => (await fetch(url + path, init)).json()
  const post = (value) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ local: value, zoned: value, transformed: value }),
  })
  const created = []
  for (const instant of instants) created.push(await fetchJson('', post(instant)))
  const { objects } = await fetchJson('?ordering=id')
  const found = []
  for (const { local } of objects) {
    const query = new URLSearchParams({ local, zoned: local, transformed: local })
    found.push(...(await fetchJson(`?${query}`)).objects)
  }
  const entities = await dataSource.getRepository(Moment).find({ order: { id: 'ASC' } })
  console.log(JSON.stringify({ created, objects, found, entities }))
  server.close()
  server.closeAllConnections()
  await dataSource.destroy()
}

main(JSON.parse(process.argv[2]))
