import { execFile } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isShortage, notSpawned } from './not-started.ts'

/** What stands before a command that has a network of its own, in which nobody else is: it takes the command's place. */
export const alone = ['/usr/bin/unshare', '--map-root-user', '--net', '--'] as const

// What the kernel keeps of an address, with the zero at its end (unix(7)).
const longestPath = 107

/**
 * The Unix socket that an anvil is reached by whose own port nobody reaches: in a directory that is the user's alone,
 * out of a network of its own. undefined: this system, or a container's rules, give an ordinary process no network of
 * its own, or the path is too long for a socket.
 * @throws AnvilNotStarted where it is open, since the system is short of something: then others get no way in instead
 */
export async function socketAlone(dir: string): Promise<string | undefined> {
  const path = join(dir, 'anvil.sock')
  if (process.platform !== 'linux' || Buffer.byteLength(path) > longestPath) return undefined
  const [command, ...args] = alone
  const own = '/proc/self/ns/net'
  try {
    // It says by itself that it worked, and is not believed where the network is the same.
    const { stdout } = await promisify(execFile)(command, [...args, '/usr/bin/readlink', own], { env: {} })
    return stdout.trim() !== '' && stdout.trim() !== readlinkSync(own) ? path : undefined
  } catch (error) {
    if (isShortage(error)) throw notSpawned(command, error)
    return undefined
  }
}
