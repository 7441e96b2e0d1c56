import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'typeorm'
import type { OpenRelay } from '../change-feed'
import { changeIn, newOrigin, relayChannel } from './message'
import { buildOutbox } from './outbox'

/** The methods of a client of the package `ioredis` that a relay calls. */
export interface RedisClient {
  readonly publish: (channel: string, message: string) => Promise<unknown>
  /** Creates a second connection, which receives the messages. */
  readonly duplicate: () => RedisSubscriber
}

interface RedisSubscriber {
  readonly subscribe: (channel: string) => Promise<unknown>
  readonly on: (event: string, listener: (...parameters: string[]) => void) => unknown
  /** @param reconnect whether the client then connects again. Default: false */
  readonly disconnect: (reconnect?: boolean) => void
}

/** Interval between checks of the connection that receives messages, and time for its response, in milliseconds. */
const checkMs = 10_000
const responseMs = 5000

/**
 * Relays changes by a channel of Redis, after their commit.
 * @param logger receives a warning if Redis refuses the subscription
 */
export function redisRelay(redis: RedisClient, logger: Logger): OpenRelay {
  return (receive) => {
    const origin = newOrigin()
    let isReported = false
    const report = (error: unknown): void => {
      const { name, message } = Object(error) as Error
      // Other errors are those of a connection, which the client opens again.
      if (isReported || name !== 'ReplyError') return
      isReported = true
      const what = `the relay of live lists cannot SUBSCRIBE to ${relayChannel}, so changes of other processes do not arrive`
      logger.log('warn', `typeorm-resources: ${what}: ${message}`)
    }
    const subscriber = redis.duplicate()
    // Without a listener, an error of the connection would end the process. The client connects again by itself.
    subscriber.on('error', () => undefined)
    subscriber.on('message', (_, message = '') => {
      const change = changeIn(origin, message)
      if (change !== undefined) receive([change])
    })
    let isConnected = false
    subscriber.on('close', () => {
      isConnected = false
    })
    subscriber.on('ready', () => {
      isConnected = true
      // Messages that were sent while there was no connection are lost.
      void subscriber.subscribe(relayChannel).then(() => receive(undefined), report)
    })
    // A client with `lazyConnect` connects at its first command. If it queues no commands, this one fails: `ready` repeats it.
    subscriber.subscribe(relayChannel).catch(report)
    // A connection that a firewall has dropped shows no error until something is sent.
    const check = setInterval(async () => {
      if (isConnected && !(await answers(subscriber)) && isConnected) subscriber.disconnect(true)
    }, checkMs).unref()
    const outbox = buildOutbox(origin, (message) => redis.publish(relayChannel, message))
    return {
      send: outbox.send,
      close: async () => {
        isConnected = false
        clearInterval(check)
        outbox.close()
        subscriber.disconnect()
      },
    }
  }
}

/** Whether the server responds in time to a subscriber. A refusal is a response too. */
function answers(subscriber: RedisSubscriber): Promise<boolean> {
  const response = subscriber.subscribe(relayChannel).then(
    () => true,
    () => true,
  )
  return Promise.race([response, setTimeout(responseMs, false, { ref: false })])
}
