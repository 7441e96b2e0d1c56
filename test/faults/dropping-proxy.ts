import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that can drop all packets of its connections, as a firewall does with idle ones. */
export interface DroppingProxy {
  readonly port: number
  /** Drops the packets of the connections that are open now, in both directions. New connections work. */
  readonly drop: () => void
  readonly close: () => void
}

/** @param port of the server */
export async function startDroppingProxy(port: number): Promise<DroppingProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    drop: () => {
      for (const socket of sockets) socket.unpipe().resume()
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
