import { once } from 'node:events'
import net from 'node:net'
import { socketPath } from '../../values/local-daemon.ts'
import { listenerAt } from './address.ts'
import { unreachable } from './connection.ts'
import { isLoopback } from './errors.ts'

const patienceMs = 2000

/**
 * Whether anything listens at an address of this machine; nothing is sent there. Of another machine it is not asked.
 * @throws DaemonUnreachable
 */
export const assertListening = async (address: string): Promise<void> => {
  const at = listenerAt(address)
  const { url, socket: path } = at
  if (path === undefined && !isLoopback(url.hostname)) return
  const held = path === undefined ? undefined : socketPath(path)
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const socket = net.connect(
    held ? { path: held.path } : { host: url.hostname.replace(/^\[|\]$/g, ''), port },
  )
  try {
    // A queue that is full is a listener too.
    await once(socket, 'connect', { signal: AbortSignal.timeout(patienceMs) })
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw unreachable(at, error)
  } finally {
    socket.destroy()
    held?.release()
  }
}
