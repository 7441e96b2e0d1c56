import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that can drop all packets of its connections, as a firewall does with idle ones. */
export interface DroppingProxy {
  readonly port: number
  /** Drops the packets of the connections that are open now, in both directions. New connections work. */
  readonly drop: () => void
  /**
   * Drops the packets of the next connection on which a client sends this text. Further calls are about further connections.
   * @param packet whether the packet with the text is dropped too, or reaches the server, whose response is dropped
   */
  readonly dropAt: (text: string, packet: 'dropped' | 'sent') => void
  /** Number of connections that `dropAt` has dropped. */
  readonly dropped: () => number
  /** Closes the connections that are open now. */
  readonly cut: () => void
  readonly close: () => void
}

/**
 * @param port of the server
 * @param edit changes what clients send
 */
export async function startDroppingProxy(
  port: number,
  edit: (packet: Buffer) => Buffer = (packet) => packet,
): Promise<DroppingProxy> {
  const sockets = new Set<Socket>()
  const silent = new WeakSet<Socket>()
  const traps: { readonly text: string; readonly packet: 'dropped' | 'sent' }[] = []
  let dropped = 0
  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
    }
    target.on('data', (packet) => {
      // Waits for a slow client, as a proxy does.
      if (!silent.has(target) && !client.write(packet)) target.pause()
    })
    client.on('drain', () => target.resume())
    client.on('data', (packet) => {
      if (silent.has(client)) return
      const trap = traps.find(({ text }) => packet.includes(text))
      if (trap?.packet !== 'dropped') target.write(edit(packet))
      if (trap === undefined) return
      traps.splice(traps.indexOf(trap), 1)
      dropped += 1
      silent.add(client).add(target)
    })
  })
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    drop: () => {
      for (const socket of sockets) silent.add(socket)
    },
    dropAt: (text, packet) => void traps.push({ text, packet }),
    dropped: () => dropped,
    cut,
    close: () => {
      server.close()
      cut()
    },
  }
}
