/** Entities, bodies and database of both servers with Nest. The tables are those of `../model`. */
import type { TypeOrmModuleOptions } from '@nestjs/typeorm'
import { IsBoolean, IsInt, IsOptional, IsString } from 'class-validator'
import { Column, CreateDateColumn, Entity, Index, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm'
import { connectionOptions } from '../engines'
import { database } from '../serve'

@Entity('users')
export class User {
  @PrimaryGeneratedColumn() id!: number
  @Column({ unique: true }) username!: string
  @Column() email!: string
  @Column() password!: string
  @Column() admin!: boolean
  @Column() active!: boolean
}

@Entity('notes')
export class Note {
  @PrimaryGeneratedColumn() id!: number
  @Column() title!: string
  @Column('text') body!: string
  @Index() @Column() score!: number
  @Column() published!: boolean
  @CreateDateColumn() created!: Date
  @ManyToOne(() => User, { nullable: false }) author!: Relation<User>
  @Index() @Column() authorId!: number
}

export class CreateNote {
  @IsString() title!: string
  @IsString() body!: string
  @IsInt() score!: number
  @IsBoolean() published!: boolean
  @IsInt() authorId!: number
}

export class UpdateNote {
  @IsOptional() @IsString() title?: string
  @IsOptional() @IsString() body?: string
  @IsOptional() @IsInt() score?: number
  @IsOptional() @IsBoolean() published?: boolean
  @IsOptional() @IsInt() authorId?: number
}

export const typeOrmOptions: TypeOrmModuleOptions = { ...connectionOptions(database), entities: [User, Note] }
