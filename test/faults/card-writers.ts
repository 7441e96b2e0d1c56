import { type Reply, send } from '../client'
import type { Card } from './entities'
import type { LiveCopy, LiveRecord } from './live-copy'
import { sleep } from './time'

/** What a write stores in a card. The version is different for each write. */
export type CardState = Pick<Card, 'team' | 'state' | 'version'>

/** The committed states of all cards. */
export class CardLedger {
  readonly #states = new Map<number, CardState[]>()
  /** Versions of writes whose response did not arrive, so that they may be stored. */
  readonly #uncertain = new Set<number>()
  #version = 0
  writes = 0

  /** A state that no other write has. */
  next(team = pick(['red', 'blue'])): CardState {
    return { team, state: pick(['open', 'done']), version: ++this.#version }
  }

  stored(id: number, state: CardState): void {
    const states = this.#states.get(id) ?? []
    states.push(state)
    this.#states.set(id, states)
  }

  uncertain({ version }: CardState): void {
    this.#uncertain.add(version)
  }

  /** What is wrong with the events that a copy has received. @param sees whether a card belongs to the list */
  mistakesIn(copy: LiveCopy, sees: (card: CardState) => boolean): readonly string[] {
    const mistakes: string[] = []
    const ids = new Set<string>()
    const versions = new Map<number, number>()
    let last = new Map<number, string>()
    for (const { id: eventId, name, data } of copy.events) {
      if (name === 'reset') {
        last = new Map()
        continue
      }
      if (ids.has(eventId)) mistakes.push(`the event ${eventId} was received twice`)
      ids.add(eventId)
      const record = data as LiveRecord & CardState
      const { id, version, team, state } = record
      const text = JSON.stringify(record)
      const before = last.get(id)
      last.set(id, name === 'gone' ? name : text)
      const states = this.#states.get(id) ?? []
      if (name === 'gone') {
        if (before === name) mistakes.push(`${id} is gone twice`)
        if (!states.some(sees) && this.#uncertain.size === 0) mistakes.push(`${id}, which is gone, was never visible`)
        continue
      }
      const isCommitted = states.some((one) => one.version === version && one.team === team && one.state === state)
      if (!isCommitted && !this.#uncertain.has(version)) mistakes.push(`${text} was never committed`)
      if (!sees(record)) mistakes.push(`${text} does not belong to ${copy.options.path}`)
      if (version < (versions.get(id) ?? 0)) mistakes.push(`${text} after version ${versions.get(id)}`)
      versions.set(id, version)
      if (before === text) mistakes.push(`${text} was sent twice`)
      if (before !== undefined && (before === 'gone') !== (name === 'created')) mistakes.push(`${name} after ${before}`)
    }
    return mistakes
  }
}

/** Transactions of the application. */
export interface CardTransactions {
  /** Changes a card, and then commits or rolls back. */
  readonly change: (id: number, state: CardState, commits: boolean) => Promise<void>
}

/** Clients that write cards. A card is written by one of them at a time. */
export class CardWriters {
  readonly #free: number[] = []
  readonly #agentHeaders = { 'X-User': 'root' }
  #isOver = false
  readonly #running: readonly Promise<void>[]
  readonly surprises: string[] = []

  /**
   * @param url of the site for each write
   * @param turns number of writes of each client. Default: until `stop`
   */
  constructor(
    readonly url: () => string,
    readonly ledger: CardLedger,
    clients: number,
    turns = Number.POSITIVE_INFINITY,
    readonly transactions?: CardTransactions,
  ) {
    this.#running = Array.from({ length: clients }, async () => {
      for (let turn = 0; turn < turns && !this.#isOver; turn++) {
        await this.#write().catch((error: unknown) => this.surprises.push(String(error)))
        this.ledger.writes += 1
      }
    })
  }

  async done(): Promise<void> {
    await Promise.all(this.#running)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.done()
  }

  async #write(): Promise<void> {
    const works = [this.#create, this.#update, this.#update, this.#update, this.#remove, this.#moveDeck, this.#cascade]
    if (this.transactions !== undefined) works.push(this.#transact, this.#transact)
    works.push(this.#createMany, this.#updateMany, this.#removeMany)
    await pick(works).call(this)
  }

  /** Takes cards that no other client writes meanwhile. */
  #take(count: number): readonly number[] {
    const taken: number[] = []
    while (taken.length < count && this.#free.length > 0) {
      taken.push(...this.#free.splice(Math.floor(Math.random() * this.#free.length), 1))
    }
    return taken
  }

  async #create(): Promise<void> {
    await this.#store([this.ledger.next()], (body) => this.#send('POST card/', { ...body[0], deck_id: pick([1, 2]) }))
  }

  async #createMany(): Promise<void> {
    const states = Array.from({ length: 5 }, () => this.ledger.next())
    await this.#store(states, (body) =>
      this.#send(
        'POST card/',
        body.map((one) => ({ ...one, deck_id: pick([1, 2]) })),
      ),
    )
  }

  /** Creates cards, which are then free. @returns their ids */
  async #store(
    states: readonly CardState[],
    post: (states: readonly CardState[]) => Promise<Reply>,
    isFree = true,
  ): Promise<readonly number[]> {
    const reply = await this.#attempt(states, 201, () => post(states))
    if (reply === undefined) return []
    const json = reply.json() as LiveRecord & { objects?: LiveRecord[] }
    const ids = (json.objects ?? [json]).map(({ id }) => id)
    for (const [index, id] of ids.entries()) this.ledger.stored(id, states[index] as CardState)
    if (isFree) this.#free.push(...ids)
    return ids
  }

  async #update(): Promise<void> {
    const [id] = this.#take(1)
    if (id === undefined) return
    const state = this.ledger.next()
    const reply = await this.#attempt([state], 200, () => this.#send(`PATCH card/${id}/`, state))
    if (reply !== undefined) this.ledger.stored(id, state)
    this.#free.push(id)
  }

  async #updateMany(): Promise<void> {
    const ids = this.#take(4)
    if (ids.length === 0) return
    const state = this.ledger.next()
    const reply = await this.#attempt([state], 200, () => this.#send(`PATCH card/?id__in=${ids.join(',')}`, state))
    if (reply !== undefined) for (const id of ids) this.ledger.stored(id, state)
    this.#free.push(...ids)
  }

  async #remove(): Promise<void> {
    const [id] = this.#take(1)
    if (id !== undefined) await this.#attempt([], 204, () => this.#send(`DELETE card/${id}/`))
  }

  async #removeMany(): Promise<void> {
    const ids = this.#take(3)
    if (ids.length > 0) await this.#attempt([], 200, () => this.#send(`DELETE card/?id__in=${ids.join(',')}`))
  }

  /** Changes the deck of two cards, so that lists that filter by it change. */
  async #moveDeck(): Promise<void> {
    const line = `PATCH deck/${pick([1, 2])}/`
    await this.#attempt([], 200, () => this.#send(line, { shelf: pick(['left', 'right']) }))
  }

  /** Deletes a deck, and its cards by the foreign key. */
  async #cascade(): Promise<void> {
    const deck = await this.#attempt([], 201, () => this.#send('POST deck/', { shelf: 'left' }))
    if (deck === undefined) return
    const { id } = deck.json() as LiveRecord
    const states = [this.ledger.next(), this.ledger.next()]
    const post = (): Promise<Reply> =>
      this.#send(
        'POST card/',
        states.map((state) => ({ ...state, deck_id: id })),
      )
    await this.#store(states, post, false)
    await sleep(Math.random() * 30)
    await this.#attempt([], 204, () => this.#send(`DELETE deck/${id}/`))
  }

  async #transact(): Promise<void> {
    const [id] = this.#take(1)
    if (id === undefined) return
    const state = this.ledger.next()
    const commits = Math.random() < 0.5
    await this.transactions?.change(id, state, commits)
    if (commits) this.ledger.stored(id, state)
    this.#free.push(id)
  }

  #send(line: string, body?: unknown): Promise<Reply> {
    return send(this.url(), line.replace(' ', ' /api/'), { body, headers: this.#agentHeaders })
  }

  /** Sends a write. @returns undefined if it is not known to be stored */
  async #attempt(
    states: readonly CardState[],
    expected: number,
    write: () => Promise<Reply>,
  ): Promise<Reply | undefined> {
    const reply = await write().catch(() => undefined)
    if (reply?.status === expected) return reply
    if (reply === undefined || reply.status >= 500) {
      for (const state of states) this.ledger.uncertain(state)
      await sleep(20)
    }
    this.surprises.push(reply === undefined ? 'the connection broke' : `${reply.status} ${reply.text.slice(0, 200)}`)
    return undefined
  }
}

function pick<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T
}
