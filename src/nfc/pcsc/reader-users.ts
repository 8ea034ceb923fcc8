import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ReaderUser } from '../card.ts'

/** More names help nobody. */
const maxUsers = 3
const scripted = /^(node|python|perl|ruby|java|bash|sh)[\d.]*$/

/**
 * Other programs that talk to the same PC/SC service, as far as this user may see: those that have its library loaded.
 * Empty on systems other than Linux. Never throws.
 * @param env names the service's socket, as for the libraries
 * @param ownPids the processes that are not meant
 */
export async function readerUsers(
  env: NodeJS.ProcessEnv,
  ownPids: readonly (number | undefined)[],
): Promise<ReaderUser[]> {
  const users = new Map<number, ReaderUser>()
  const pids = process.platform === 'linux' ? await readdir('/proc').catch(() => []) : []
  for (const pid of pids.filter((name) => /^\d+$/.test(name)).map(Number)) {
    if (ownPids.includes(pid) || !(await usesService(pid, env))) continue
    const user = await nameOf(pid)
    if (user === undefined || ownPids.includes(user.pid)) continue
    users.set(user.pid, user)
    if (users.size === maxUsers) break
  }
  return [...users.values()]
}

async function usesService(pid: number, env: NodeJS.ProcessEnv): Promise<boolean> {
  const maps = await about(pid, 'maps')
  if (!maps.includes('/libpcsclite')) return false
  const socket = /(?:^|\0)PCSCLITE_CSOCK_NAME=([^\0]*)/.exec(await about(pid, 'environ'))?.[1]
  return (socket || '') === (env.PCSCLITE_CSOCK_NAME || '')
}

/** The name that a person started it by. Another Tapchip's child stands for its parent. */
async function nameOf(pid: number): Promise<ReaderUser | undefined> {
  const [program = '', script = ''] = (await about(pid, 'cmdline')).split('\0')
  if (script.endsWith('reader-host.cjs')) {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(await about(pid, 'status'))?.[1])
    return parent > 1 ? nameOf(parent) : undefined
  }
  const isScript = scripted.test(basename(program)) && script !== '' && !script.startsWith('-')
  const name = isScript ? basename(script).replace(/\.[a-z]{2,4}$/, '') : basename(program)
  // Another program chose it: it shall not move the cursor, nor fill the screen.
  return name === '' ? undefined : { name: name.replace(/[^\x20-\x7e]/g, '?').slice(0, 40), pid }
}

/** Empty if the process ended, or is somebody else's. */
const about = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
