/** The pages of nestjs-paginate with `relations`, on Fastify. */
import { Controller, Get, Module } from '@nestjs/common'
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm'
import { FilterOperator, Paginate, type Paginated, type PaginateQuery, PaginationType, paginate } from 'nestjs-paginate'
import {
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
  type Repository,
  VirtualColumn,
} from 'typeorm'
import { connectionOptions } from '../../engines'
import { database } from '../../serve'
import { serveNest } from '../serve-nest'

@Entity()
class Person {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
class Project {
  @PrimaryGeneratedColumn() id!: number
  @Column() name!: string
}

@Entity()
class Tag {
  @PrimaryGeneratedColumn() id!: number
  @Column() label!: string
}

@Entity()
class Task {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column() status!: string
  @ManyToOne(() => Project) @JoinColumn({ name: 'project_id' }) project!: Relation<Project>
  @ManyToOne(() => Person) @JoinColumn({ name: 'assignee_id' }) assignee!: Relation<Person>
  @ManyToMany(() => Tag)
  @JoinTable({ name: 'task_tag', joinColumn: { name: 'task_id' }, inverseJoinColumn: { name: 'tag_id' } })
  tags!: Relation<Tag>[]
  @OneToMany(
    () => Comment,
    (comment) => comment.task,
  )
  comments!: Relation<Comment>[]
  @VirtualColumn({ type: 'integer', query: (task) => `SELECT COUNT(*) FROM comment WHERE task_id = ${task}.id` })
  comments_total!: number
}

@Entity()
class Comment {
  @PrimaryGeneratedColumn() id!: number
  @Column() text!: string
  @ManyToOne(() => Person) @JoinColumn({ name: 'author_id' }) author!: Relation<Person>
  @ManyToOne(
    () => Task,
    (task) => task.comments,
  )
  @JoinColumn({ name: 'task_id' })
  task!: Relation<Task>
}

@Controller()
class TasksController {
  constructor(@InjectRepository(Task) private readonly tasks: Repository<Task>) {}

  @Get('board')
  board(@Paginate() query: PaginateQuery): Promise<Paginated<Task>> {
    return paginate(query, this.tasks, {
      sortableColumns: ['id'],
      defaultSortBy: [['id', 'ASC']],
      filterableColumns: { 'project.id': [FilterOperator.EQ] },
      relations: ['project', 'assignee', 'tags'],
      paginationType: PaginationType.TAKE_AND_SKIP,
    })
  }

  /** One task is not paginated, which saves a statement that counts and one that selects keys. */
  @Get('task')
  task(@Paginate() query: PaginateQuery): Promise<Paginated<Task>> {
    return paginate(query, this.tasks, {
      sortableColumns: ['id'],
      select: [
        'id',
        'title',
        'status',
        'assignee.id',
        'assignee.name',
        'comments.id',
        'comments.text',
        'comments.author.id',
        'comments.author.name',
      ],
      filterableColumns: { id: [FilterOperator.EQ] },
      relations: { assignee: true, comments: { author: true } },
      maxLimit: -1,
    })
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ ...connectionOptions(database), entities: [Person, Project, Tag, Task, Comment] }),
    TypeOrmModule.forFeature([Task]),
  ],
  controllers: [TasksController],
})
class SiteModule {}

serveNest(SiteModule)
