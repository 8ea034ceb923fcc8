import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processesOf, type Reply, type Sent, send } from './from-outside.ts'
import { type DaemonProcess, type Finished, run, spawnDaemon } from './process.ts'

export const attackedToken = 'adm_attacked-0123456789abcdef'

export interface Attacked {
  daemon: DaemonProcess
  /** Of its own, with the data directory in `data`: a home for the CLI as well. */
  dir: string
  dataDir: string
  /** Headers of the first admin token. */
  admin: { authorization: string }
  ask(path: string, sent?: Sent): Promise<Reply>
  /** The CLI, told of this daemon in the environment and nowhere else. */
  cli(...args: string[]): Promise<Finished>
  close(): Promise<void>
}

/** The built daemon on a data directory of its own; `close` leaves nothing of it behind, whatever became of it. */
export async function openAttacked({
  seed,
  env = {},
  args = [],
  root = tmpdir(),
}: {
  seed?: unknown
  env?: Record<string, string>
  args?: string[]
  root?: string
} = {}): Promise<Attacked> {
  const dir = mkdtempSync(join(root, 'tapchip-attacked-'))
  const seedFile = join(dir, 'seed.json')
  if (seed !== undefined) writeFileSync(seedFile, JSON.stringify(seed))
  const where = args.includes('--ephemeral') ? [] : ['--data-dir', join(dir, 'data')]
  const clean = (dataDir: string) => {
    // A chain that outlived its daemon.
    for (const pid of processesOf(dataDir)) process.kill(pid, 'SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
  const daemon = await spawnDaemon(
    [...where, '--port', '0', ...(seed === undefined ? [] : ['--seed', seedFile]), ...args],
    { TAPCHIP_ADMIN_TOKEN: attackedToken, ...env },
  ).catch((error: unknown) => {
    clean(dir)
    throw error
  })
  const { url, dataDir } = daemon.ready
  return {
    daemon,
    dir,
    dataDir,
    admin: { authorization: `Bearer ${attackedToken}` },
    ask: (path, sent) => send(url + path, sent),
    cli: (...words) =>
      run('tapchip', words, { HOME: dir, TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: attackedToken }),
    close: async () => {
      await daemon.kill()
      clean(dataDir)
    },
  }
}
