import 'reflect-metadata'
import { DataSource } from 'typeorm'
import { entities } from '../../sample/entities'

/** Data source of the sample's entities that is never initialized. */
export const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:', entities })
