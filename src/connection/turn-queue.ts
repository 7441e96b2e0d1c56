import { type Client, clientName } from '../access/client-network'

/** A client that takes turns with others. */
export interface TurnTaker extends Client {
  /** Name that replaces that of the client; undefined if there is none. */
  readonly turnName: string | undefined
}

/** Name of a client that takes turns; empty for the application itself. */
export function turnName(client: TurnTaker | undefined): string {
  return client === undefined ? '' : (client.turnName ?? clientName(client))
}

/** Waiting tasks of several clients, which take turns: one task of each client, then the next one of each. */
export class TurnQueue<Task extends { readonly client: string }> {
  /** The tasks of each client with waiting tasks, the oldest first. The first client has the next turn. */
  readonly #tasks = new Map<string, Set<Task>>()
  #size = 0
  /** The client that had the last turn. */
  #last = ''

  /** Number of tasks. */
  get size(): number {
    return this.#size
  }

  /** The clients in the order of their turns, each with its tasks, the oldest first. */
  [Symbol.iterator](): Iterator<[string, ReadonlySet<Task>]> {
    return this.#tasks.entries()
  }

  /** The tasks of a client, the oldest first; undefined if it has none. */
  tasksOf(client: string): ReadonlySet<Task> | undefined {
    return this.#tasks.get(client)
  }

  /** Adds a task. The first task of a client has its turn before those of the client that had the last turn. */
  add(task: Task): void {
    const ofClient = this.#tasks.get(task.client)
    if (ofClient === undefined) {
      this.#tasks.set(task.client, new Set([task]))
      this.endTurn(this.#last)
    } else ofClient.add(task)
    this.#size += 1
  }

  /** @returns false if the queue does not have the task */
  remove(task: Task): boolean {
    const ofClient = this.#tasks.get(task.client)
    if (!ofClient?.delete(task)) return false
    this.#size -= 1
    if (ofClient.size === 0) this.#tasks.delete(task.client)
    return true
  }

  /** Removes a task that starts. Its client has had its turn. */
  start(task: Task): void {
    this.remove(task)
    this.endTurn(task.client)
    this.#last = task.client
  }

  /** Removes the task with the next turn, which starts. @returns undefined if there is none */
  startNext(): Task | undefined {
    const [tasks] = this.#tasks.values()
    const [task] = tasks ?? []
    if (task !== undefined) this.start(task)
    return task
  }

  /** Makes the next turn of a client the last one. */
  endTurn(client: string): void {
    const ofClient = this.#tasks.get(client)
    if (ofClient === undefined) return
    this.#tasks.delete(client)
    this.#tasks.set(client, ofClient)
  }

  /**
   * The newest task of the group that has most. Of groups with equal numbers, it is the one with the last turn.
   * @param groupOf name of the group of a task. Default: its client
   */
  newestOfMost(groupOf = ({ client }: Task): string => client): Task | undefined {
    const groups = new Map<string, { size: number; newest: Task }>()
    for (const tasks of this.#tasks.values()) {
      for (const task of tasks) {
        const name = groupOf(task)
        groups.set(name, { size: (groups.get(name)?.size ?? 0) + 1, newest: task })
      }
    }
    let most: { readonly size: number; readonly newest: Task } | undefined
    for (const group of groups.values()) if (group.size >= (most?.size ?? 0)) most = group
    return most?.newest
  }
}
