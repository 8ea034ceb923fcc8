import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

/** vsmartcard's driver makes two virtual readers, on TCP ports that follow each other. */
const driver = '/usr/lib/pcsc/drivers/serial/libifdvpcd.so'
const entry = (name: string, library: string, port: number): string =>
  `FRIENDLYNAME "${name}"\nDEVICENAME /dev/null:0x${port.toString(16)}\n` +
  `LIBPATH ${library}\nCHANNELID 0x${port.toString(16)}\n`

/** A real pcscd with virtual readers, in namespaces of its own: nothing of this machine's is touched or seen. */
export interface PrivatePcscd {
  /** What a program needs in its environment to talk to this pcscd. */
  readonly env: NodeJS.ProcessEnv
  /** The names of the readers. */
  readonly readers: readonly [string, string, ...string[]]
  /** Puts a card on a reader: 0 is the first. */
  present(slot: number, chip: Chip, atr?: Uint8Array): Promise<PresentedCard>
  /** Starts it (again); resolves when it listens. */
  start(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGSTOP: connections to it are taken still, and never answered. */
  freeze(): Promise<void>
  /** Resolves at the next line of its log that ends so. Only with `log`. */
  logged(end: string): Promise<void>
  /** From its next start on it has all of its readers, or none: virtual ones cannot come and go while it runs. */
  plugIn(): void
  unplug(): void
  /** Ends all of it. */
  end(): Promise<void>
}

export interface PcscdOptions {
  /** False: none, until they are plugged in. Default: 2. */
  readonly readers?: false | 2 | 4
  /** What PC/SC calls each pair of readers, before its two numbers. */
  readonly names?: readonly string[]
  /** Default: false, since it is much. */
  readonly log?: boolean
}

const port = 0x8c7b

export async function startPcscd({
  readers = 2,
  names = readers === 4 ? ['Virtual PCD', 'Virtual PCD Two'] : ['Virtual PCD'],
  log = false,
}: PcscdOptions = {}): Promise<PrivatePcscd> {
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-pcsc-'))
  for (const name of ['run', 'readers', 'no-drivers']) mkdirSync(join(folder, name))
  const config = join(folder, 'readers/virtual')
  const configure = () => {
    const entries = names.map((name, pair) => {
      // The driver knows two readers, so each pair has a copy of its own.
      const copy = join(folder, `driver-${pair}.so`)
      copyFileSync(driver, copy)
      return entry(name, copy, port + 2 * pair)
    })
    writeFileSync(config, entries.join('\n'))
  }
  if (readers !== false) configure()

  const ports = names.flatMap((_, pair) => [port + 2 * pair, port + 2 * pair + 1])
  const namespace = openNamespace([folder, ...ports.map(String)])
  const socket = join(folder, 'run/pcscd.comm')
  const start = async () => {
    await namespace.tell(log ? 'start --debug' : 'start', 'started')
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
  const [first = '', second = '', ...more] = names.flatMap((name) => [`${name} 00 00`, `${name} 00 01`])
  return {
    env: { ...process.env, PCSCLITE_CSOCK_NAME: socket },
    readers: [first, second, ...more],
    present: (slot, chip, atr) => presentCard(join(folder, `slot-${slot}.sock`), chip, atr),
    start,
    kill: () => namespace.tell('kill', 'exited'),
    freeze: () => namespace.tell('freeze', 'frozen'),
    logged: namespace.heard,
    plugIn: configure,
    unplug: () => rmSync(config),
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
    for (const [end, resolve] of waiting) {
      if (!line.endsWith(end)) continue
      waiting.delete(end)
      resolve()
    }
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
