import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { type Chip, type PresentedCard, presentCard } from './vpcd.ts'

const running = new Set<ChildProcess>()

// A test that fails leaves nothing behind: all of a namespace ends with the process that made it.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** vsmartcard's virtual reader: a name of its own, and two slots on TCP ports that follow each other. */
const reader = (name: string, port: number): string =>
  `FRIENDLYNAME "${name}"\nDEVICENAME /dev/null:0x${port.toString(16)}\n` +
  `LIBPATH /usr/lib/pcsc/drivers/serial/libifdvpcd.so\nCHANNELID 0x${port.toString(16)}\n`

/** A real pcscd with two virtual readers, in namespaces of its own: nothing of this machine's is touched or seen. */
export interface PrivatePcscd {
  /** What a program needs in its environment to talk to this pcscd. */
  readonly env: NodeJS.ProcessEnv
  /** The names of the two readers. */
  readonly readers: readonly [string, string]
  /** Puts a card on a reader: 0 is the first. */
  present(slot: 0 | 1, chip: Chip, atr?: Uint8Array): Promise<PresentedCard>
  /** Starts it (again); resolves when it listens. */
  start(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGSTOP: connections to it are taken still, and never answered. */
  freeze(): void
  /** Where it was started without readers: from its next start on it has them. */
  plugIn(): void
  /** Ends all of it. */
  end(): Promise<void>
}

const port = 0x8c7b

/** @param options.readers false: none, until they are plugged in */
export async function startPcscd(options: { readonly readers?: boolean } = {}): Promise<PrivatePcscd> {
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-pcsc-'))
  for (const name of ['run', 'readers', 'no-drivers']) mkdirSync(join(folder, name))
  const configure = () => writeFileSync(join(folder, 'readers/virtual'), reader('Virtual PCD', port))
  if (options.readers !== false) configure()

  const namespace = openNamespace([folder, String(port), String(port + 1)])
  const socket = join(folder, 'run/pcscd.comm')
  const start = async () => {
    await namespace.tell('start', 'started')
    await listens(socket)
  }
  const end = async () => {
    await namespace.end()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await namespace.heard('ready')
    await start()
  } catch (error) {
    await end()
    throw error
  }
  return {
    env: { ...process.env, PCSCLITE_CSOCK_NAME: socket },
    readers: ['Virtual PCD 00 00', 'Virtual PCD 00 01'],
    present: (slot, chip, atr) => presentCard(join(folder, `slot-${slot}.sock`), chip, atr),
    start,
    kill: () => namespace.tell('kill', 'exited'),
    freeze: () => void namespace.tell('freeze', 'frozen'),
    plugIn: configure,
    end,
  }
}

/** Runs namespace.mjs where it may do as it likes. */
function openNamespace(args: string[]) {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const script = resolve(import.meta.dirname, 'namespace.mjs')
  const child = spawn(
    'unshare',
    [...user, '--mount', '--net', '--pid', '--fork', '--kill-child', process.execPath, script, ...args],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } },
  )
  running.add(child)
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  child.stdin.on('error', () => undefined)
  const exited = once(child, 'close').catch((error: unknown) => {
    errors += String(error)
  })
  const waiting = new Map<string, () => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    waiting.get(line)?.()
    waiting.delete(line)
  })
  const heard = async (line: string): Promise<void> => {
    const said = new Promise<'said'>((resolve) => waiting.set(line, () => resolve('said')))
    if ((await Promise.race([said, exited])) !== 'said') throw new Error(`No namespace for pcscd: ${errors}`)
  }
  return {
    heard,
    tell: (command: string, answer: string): Promise<void> => {
      child.stdin.write(`${command}\n`)
      return heard(answer)
    },
    end: async () => {
      running.delete(child)
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Resolves when somebody accepts connections there. */
async function listens(path: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const socket = connect(path)
    const [found] = await Promise.race([
      once(socket, 'connect').then(() => [true]),
      once(socket, 'close').then(() => [false]),
    ]).catch(() => [false])
    socket.destroy()
    if (found) return
    await delay(5)
  }
  throw new Error(`pcscd does not listen at ${path}`)
}
