import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Opens a connection and sends text on it. The client reads nothing until the socket is resumed. */
export async function openPaused(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).pause()
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return socket
}
