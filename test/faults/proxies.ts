import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../client'
import { atEnd, guardProcess, temporaryDirectory, withChildren } from './cleanup'
import type { Cluster } from './clusters'
import { binary, type Owner, ownerNamed } from './programs'
import { until } from './time'

/** A running nginx. */
export interface Nginx {
  readonly url: string
  /** Replaces the list of sites; resolves when requests to the previous ones have ended. */
  readonly serve: (urls: readonly string[]) => Promise<void>
}

/** Starts nginx as a proxy of sites. @param urls of the sites */
export async function startNginx(urls: readonly string[]): Promise<Nginx> {
  const owner = await ownerNamed('www-data', 'nginx-light')
  const directory = temporaryDirectory(owner)
  const port = await freePort()
  const file = join(directory, 'configuration')
  const configure = (sites: readonly string[]): void => writeFileSync(file, nginxConfiguration(directory, port, sites))
  configure(urls)
  const options = ['-p', directory, '-e', 'stderr', '-c', file]
  const child = await start({ name: 'nginx', debian: 'nginx-light', directory, port, owner, options })
  return {
    url: `http://127.0.0.1:${port}`,
    serve: async (sites) => {
      const { pid = 0 } = child
      const before = withChildren(pid)
      configure(sites)
      child.kill('SIGHUP')
      await until('nginx has a new worker alone', () => {
        const now = withChildren(pid)
        return now.length === before.length && now.at(-1) !== before.at(-1)
      })
    },
  }
}

function nginxConfiguration(directory: string, port: number, urls: readonly string[]): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
pid pid;
worker_processes 1;
events {}
http {
  access_log off;
  ${paths.map((path) => `${path}_temp_path ${directory}/${path};`).join('\n  ')}
  upstream site {
    ${urls.map((url) => `server ${new URL(url).host};`).join('\n    ')}
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 10m;
    location / {
      proxy_pass http://site;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }
  }
}
`
}

/** Starts PgBouncer in front of PostgreSQL in transaction pooling mode. @returns its URL */
export async function startPgbouncer({ source }: Cluster, connections: number): Promise<string> {
  const owner = await ownerNamed('postgres', 'pgbouncer')
  const directory = temporaryDirectory(owner)
  const port = await freePort()
  const { hostname, port: target, username } = new URL(source.url)
  const file = join(directory, 'configuration')
  writeFileSync(
    file,
    `
[databases]
postgres = host=${hostname} port=${target} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${connections}
`,
  )
  await start({ name: 'pgbouncer', debian: 'pgbouncer', directory, port, owner, options: [file] })
  return `postgres://${username}@127.0.0.1:${port}/postgres`
}

/** A program to start. */
export interface Program {
  readonly name: string
  readonly debian: string
  readonly options: readonly string[]
  readonly directory: string
  readonly port: number
  readonly owner: Owner
}

/** Starts a program, and resolves when its port is open. */
export async function start({ name, debian, options, directory, port, owner }: Program): Promise<ChildProcess> {
  const log = join(directory, 'log')
  const output = openSync(log, 'a')
  const child = spawn(binary(name, debian), options, { ...owner, cwd: directory, stdio: ['ignore', output, output] })
  guardProcess(child, 'SIGTERM')
  const isUp = (): boolean => child.exitCode === null
  atEnd(() => {
    if (!isUp()) return undefined
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    return ended
  })
  await until(`${name} starts`, async () => !isUp() || (await isOpen(port)))
  if (!isUp()) throw new Error(`${name} does not start:\n${readFileSync(log, 'utf8')}`)
  return child
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
