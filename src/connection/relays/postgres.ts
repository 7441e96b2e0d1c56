import type { DataSource } from 'typeorm'
import { type ListeningClient, openClient } from '../../dialect/postgres/listening-client'
import { withStartComment } from '../../dialect/statement-comment'
import type { OpenRelay } from '../change-feed'
import { changeIn, messageOf, newOrigin, relayChannel } from './message'
import { buildOutbox } from './outbox'

/** Delay before a lost connection is opened again, and interval between checks of a connection, in milliseconds. */
const retryMs = 1000
const checkMs = 10_000

/**
 * Relays changes by NOTIFY of PostgreSQL. The notification is part of the transaction: the other processes receive it if the
 * transaction is committed. It needs one more connection, which is not one of the pool.
 */
export function postgresRelay(dataSource: DataSource): OpenRelay {
  return (receive) => {
    const origin = newOrigin()
    let client: ListeningClient
    let isClosed = false
    let isReported = false
    const report = (cause: unknown): void => {
      if (isReported || isClosed) return
      isReported = true
      const message = `the relay of live lists cannot LISTEN, and tries again every second: ${(cause as Error).message}`
      dataSource.logger.log('warn', `typeorm-resources: ${message}`)
    }
    const connect = async (): Promise<void> => {
      if (isClosed) return
      const opened = openClient(dataSource.driver)
      client = opened
      let isLost = false
      // A connection that a firewall has dropped shows no error until something is sent.
      const check = setInterval(() => void opened.query('SELECT 1').catch(lose), checkMs).unref()
      const lose = (): void => {
        if (isLost) return
        isLost = true
        clearInterval(check)
        opened.end().catch(() => undefined)
        if (!isClosed) setTimeout(connect, retryMs).unref()
      }
      opened.on('error', lose)
      opened.on('end', lose)
      opened.on('notification', ({ payload = '' }) => {
        const change = changeIn(origin, payload)
        if (change !== undefined) receive([change])
      })
      try {
        await opened.connect()
        await opened.query(`LISTEN ${relayChannel}`)
        isReported = false
        // Notifications that were sent while there was no connection are lost.
        receive(undefined)
      } catch (error) {
        report(error)
        lose()
      }
    }
    void connect()
    const outbox = buildOutbox(origin, (message) => dataSource.query(notify, [relayChannel, message]))
    return {
      announce: async (runner, changes) => {
        for (const change of changes) await runner.query(notify, [relayChannel, messageOf(origin, change)])
      },
      // For statements outside of a transaction, which are committed already.
      send: outbox.send,
      close: async () => {
        isClosed = true
        outbox.close()
        await client.end().catch(() => undefined)
      },
    }
  }
}

const notify = withStartComment('SELECT pg_notify($1, $2)')
