/** The entities of a small tracker, and the number of its records. */
import {
  Column,
  Entity,
  Index,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm'
import { anonymous, Resource } from 'typeorm-resources'

const auth = () => anonymous

@Entity()
@Resource({ auth })
export class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string
}

@Entity()
@Resource({ auth })
export class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 40 }) name!: string
}

@Entity()
@Resource({ auth })
export class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 20 }) label!: string
}

@Entity()
@Resource({ auth })
export class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 100 }) title!: string
  @Column({ length: 10 }) status!: string
  @Index()
  @ManyToOne(() => Project)
  @JoinColumn({ name: 'project_id' })
  project!: Relation<Project>
  @ManyToOne(() => Person)
  @JoinColumn({ name: 'assignee_id' })
  assignee!: Relation<Person>
  @ManyToMany(() => Tag)
  @JoinTable({ name: 'task_tag', joinColumn: { name: 'task_id' }, inverseJoinColumn: { name: 'tag_id' } })
  tags!: Relation<Tag>[]
  @OneToMany(
    () => Comment,
    (comment) => comment.task,
  )
  comments!: Relation<Comment>[]
}

@Entity()
@Resource({ auth })
export class Comment {
  @PrimaryGeneratedColumn() id!: number
  @Column({ length: 500 }) text!: string
  @ManyToOne(() => Person)
  @JoinColumn({ name: 'author_id' })
  author!: Relation<Person>
  @Index()
  @ManyToOne(
    () => Task,
    (task) => task.comments,
  )
  @JoinColumn({ name: 'task_id' })
  task!: Relation<Task>
}

export const entities = [Person, Project, Tag, Task, Comment]

export const taskCount = 2000
export const projectCount = 20
export const personCount = 100
export const tagCount = 10
export const commentsPerTask = 30
