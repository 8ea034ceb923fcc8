import { connect } from 'node:net'
import type { ReaderUnavailable } from '../card.ts'
import { notAllowed, notRunning, silent, wentAway } from './unavailable.ts'

/** A line to pcscd that says nothing, and closes when pcscd goes: sooner and more surely than the libraries notice. */
export interface Service {
  readonly ended: Promise<ReaderUnavailable>
  leave(): void
}

/** Where pcscd listens. The libraries look for it in the same place. */
const socketPath = (env: NodeJS.ProcessEnv): string => env.PCSCLITE_CSOCK_NAME || '/run/pcscd/pcscd.comm'

/** Elsewhere the readers' service is a part of the system that starts by itself. */
const hasPcscd = (platform: NodeJS.Platform): boolean => platform === 'linux'

/** @throws ReaderUnavailable in less than two seconds */
export function attach(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Promise<Service> {
  if (!hasPcscd(platform))
    return Promise.resolve({ ended: new Promise(() => undefined), leave: () => undefined })
  const path = socketPath(env)
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.setTimeout(1_500, () => socket.destroy(silent('pcscd accepts no connection')))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EACCES' || error.code === 'EPERM') reject(notAllowed(path, error))
      else reject(error.code === undefined ? error : notRunning(error))
    })
    socket.once('connect', () => {
      socket.setTimeout(0)
      // Nothing is ever sent on it, but an end is noticed only by one who reads.
      socket.resume()
      resolve({
        ended: new Promise((gone) => socket.once('close', () => gone(wentAway()))),
        leave: () => socket.destroy(),
      })
    })
  })
}
