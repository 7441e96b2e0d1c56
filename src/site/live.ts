import type { DataSource } from 'typeorm'
import type { ChangeFeed, OpenRelay } from '../connection/change-feed'
import { postgresRelay } from '../connection/relays/postgres'
import { redisRelay } from '../connection/relays/redis'
import type { Service } from '../pipeline/service'
import type { LiveOptions } from './mount-options'

/** Starts the live lists of a service. They end before the data source is closed. */
export function observeChanges(feed: ChangeFeed, options: true | LiveOptions, { live }: Service): void {
  const { dataSource } = feed
  feed.observe(options === true ? undefined : openRelayOf(options, dataSource))
  if (live !== undefined) feed.add({ receive: (changes) => live.receive(changes), end: () => live.end() })
}

/** Ends the live lists and the relay before the data source closes its connections. */
export function closeWithDataSource(feed: ChangeFeed): void {
  const { dataSource } = feed
  const destroy = dataSource.destroy.bind(dataSource)
  dataSource.destroy = async () => {
    await feed.close()
    await destroy()
  }
}

function openRelayOf({ relay }: LiveOptions, dataSource: DataSource): OpenRelay {
  return relay === 'postgres' ? postgresRelay(dataSource) : redisRelay(relay, dataSource.logger)
}
