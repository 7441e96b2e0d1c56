import {
  Column,
  type DataSource,
  DeleteDateColumn,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { type MountOptions, type Principal, Resource, type Rule } from 'typeorm-resources'
import { type Reply, send } from '../client'
import { openWorld, type World, type WorldOptions } from '../world/world'
import { EventReader } from './event-reader'

/** The user whom the header `X-User` names: `ann:red` is ann of the team red. Requests without the header are refused. */
export const byHeader: Rule = ({ context }) => {
  const [id, team] = context.get('X-User').split(':')
  return id ? ({ id, team } as Principal) : null
}

@Entity()
@Resource({ auth: byHeader })
export class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) team!: string
  @Column({ length: 20, default: '' }) name!: string
}

@Entity()
@Resource({ auth: byHeader })
export class Label {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) name!: string
}

@Entity()
@Resource({
  auth: byHeader,
  exclude: ['secret'],
  scope: (principal) => ({ project__team: (principal as { team?: string }).team ?? '' }),
  may: { restore: true },
  fields: { cost: { read: ({ id }) => id !== 'guest' } },
  nested: ['comments', 'labels'],
  bulk: true,
})
export class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) title!: string
  @Column({ default: false }) done!: boolean
  @Column({ type: 'int', default: 0 }) cost!: number
  @Column({ length: 40, default: '' }) secret!: string
  @DeleteDateColumn() deleted!: Date | null
  @ManyToOne(() => Project, { onDelete: 'CASCADE', nullable: false }) project!: Relation<Project>
  @OneToMany(
    () => Comment,
    ({ task }) => task,
  )
  comments!: Relation<Comment>[]
  @ManyToMany(() => Label) @JoinTable() labels!: Relation<Label>[]
}

@Entity()
@Resource({ auth: byHeader })
export class Comment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) text!: string
  @ManyToOne(
    () => Task,
    ({ comments }) => comments,
    { onDelete: 'CASCADE', nullable: false },
  )
  task!: Relation<Task>
}

/** A resource whose key is a text. */
@Entity()
@Resource({ auth: byHeader })
export class Country {
  @PrimaryColumn({ length: 10 }) code!: string
  @Column({ length: 40 }) name!: string
}

export const liveEntities = [Project, Label, Task, Comment, Country]

export interface LiveWorld extends World {
  /** Subscribes to a list or an item. @param user such as `ann:red` */
  readonly watch: (path: string, user?: string, headers?: Record<string, string>) => Promise<EventReader>
  /** Sends a request. @param line `POST task/` @param user Default: `ann:red` */
  readonly request: (line: string, body?: unknown, user?: string) => Promise<Reply>
}

/** A service with the projects 1 (team red) and 2 (team blue), and the labels 1 and 2. */
export async function openLiveWorld(mount: MountOptions = {}, options: WorldOptions = {}): Promise<LiveWorld> {
  const world = await openWorld({
    entities: liveEntities,
    mount: { live: true, ...mount },
    seed: async (dataSource: DataSource) => {
      await dataSource.getRepository(Project).insert([{ team: 'red' }, { team: 'blue' }])
      await dataSource.getRepository(Label).insert([{ name: 'urgent' }, { name: 'late' }])
    },
    ...options,
  })
  const readers: EventReader[] = []
  return {
    ...world,
    watch: async (path, user = 'ann:red', headers = {}) => {
      const reader = await EventReader.open(`${world.url}/api/${path}`, { 'X-User': user, ...headers })
      readers.push(reader)
      return reader
    },
    request: (line, body, user = 'ann:red') =>
      send(world.url, line.replace(' ', ' /api/'), { body, headers: user === '' ? {} : { 'X-User': user } }),
    close: async () => {
      for (const reader of readers) reader.close()
      await world.close()
    },
  }
}
