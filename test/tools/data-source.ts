import 'reflect-metadata'
import { DataSource } from 'typeorm'
import { entities } from '../../sample/entities'

/** The sample's entities; nothing connects. */
export const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities })
