import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { type Address, createPublicClient, http, parseAbi } from 'viem'
import { expect } from 'vitest'
import { countOfStatus, type RowStatus } from '../../src/values/batch.ts'
import { endAnvilOf } from './anvil-of.ts'
import { untilItRests } from './batch-crashes.ts'
import { cliHome } from './cli.ts'
import { type Running, spawnCli } from './cli-process.ts'
import { adminToken } from './daemon.ts'
import { type KilledKind, ownerOf, prepareRun, seed, uploadBatch } from './daemon-batch-kinds.ts'
import { type Call, callOn } from './fleet.ts'
import { png } from './poap/image-bytes.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { randomFrom } from './random.ts'
import { acmeKey } from './seeds.ts'

const idIn = (stderr: string) => /^Batch (b_[0-9a-z]{14}):/m.exec(stderr)?.[1]

/** A command tells the ID before it starts the batch. */
const isBusy = (batch: { state: string } | undefined) =>
  ['uploading', 'planned', 'running'].includes(batch?.state ?? '')

/** What a batch came to, told in four ways. */
export async function checkBatch(
  call: Call,
  id: string,
  { rows, written, context }: { rows: number; written(): Promise<number> | number; context: string },
): Promise<void> {
  const all = Array.from({ length: rows }, (_, n) => n + 1)
  const batch = await untilItRests(call, id)
  const report: { row: number; status: RowStatus; error?: string }[] = (
    await call(`GET /admin/batches/${id}/report`)
  ).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const told = { changed: 0, unchanged: 0, failed: 0, conflict: 0 }
  for (const { status } of report) told[countOfStatus[status]] += 1
  const bad = report.find(({ status }) => countOfStatus[status] !== 'changed')
  expect(bad, context).toBe(undefined)
  const { state, done, changed, unchanged, failed, conflict, error } = batch
  expect({ state, done, error, told: { changed, unchanged, failed, conflict } }, context).toEqual({
    ...{ state: 'done', done: rows, error: null, told },
  })
  expect(
    report.map(({ row }) => row).sort((one, other) => one - other),
    context,
  ).toEqual(all)
  const audit: { action: string; target: string; detail: { created?: number } }[] = (
    await call(`GET /admin/audit?batch=${id}&limit=1000`)
  ).body
  const steps = audit.filter(({ action }) => action === 'batches.end')
  const effects = audit.filter(({ action }) => !/^(batches|chip-groups)\./.test(action))
  const recorded = effects.reduce((sum, effect) => sum + rowsOf(effect), 0)
  expect([await written(), recorded, steps.length], context).toEqual([rows, rows, 1])
}

/** Of a write of several rows: "50 chips". */
const rowsOf = ({
  action,
  target,
  detail,
}: {
  action: string
  target: string
  detail: { created?: number }
}) => (action === 'chips.import' ? (detail.created ?? 0) : Number(/^(\d+) chips$/.exec(target)?.[1] ?? 1))

/** A daemon with a database of its own, in whose life batches are killed one after the other. */
export interface KilledDaemon {
  /** Kills so many batches of a kind. */
  kill(name: string, kind: KilledKind, kills: number): Promise<void>
  end(): Promise<void>
}

export async function daemonToKill({ chain = false }: { chain?: boolean } = {}): Promise<KilledDaemon> {
  const random = randomFrom(20_261)
  const directory = mkdtempSync(join(tmpdir(), 'tapchip-daemon-kills-'))
  const dataDir = join(directory, 'data')
  writeFileSync(join(directory, 'seed.json'), JSON.stringify(seed))
  const settings = {
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_RATE_LIMIT: 'off',
    ...(chain ? {} : { TAPCHIP_DEV_CHAIN: 'off' }),
  }
  const start = (port: string, ...more: string[]) =>
    spawnDaemon(['--data-dir', dataDir, '--port', port, '--log-level', 'error', ...more], settings)
  let daemon: DaemonProcess = await start('0', '--seed', join(directory, 'seed.json'))
  const { url } = daemon.ready
  const { port } = new URL(url)
  const call = callOn(url)
  const db = new Database(join(dataDir, 'tapchip.db'), { readonly: true })
  const ask = (sql: string) => Number(db.prepare(sql).pluck().get())
  const contract = String(db.prepare("select address from contracts where symbol = 'JKT'").pluck().get())
  const batchOf = db.prepare<[string], { state: string; done: number }>(
    'select state, changed + unchanged + failed + conflict as done from batches where id = ?',
  )
  let run = 0

  /** One batch, killed at a row. @returns whether it was amid its rows */
  async function killOne(name: string, kind: KilledKind): Promise<boolean> {
    run += 1
    await prepareRun(url, kind, run, (id) => untilItRests(call, id))
    const written = () => ask(kind.written(run))
    const desk = cliHome({ TAPCHIP_URL: url, TAPCHIP_API_KEY: acmeKey, TAPCHIP_ADMIN_TOKEN: adminToken })
    try {
      const { args, sheet = [], lines } = kind.batch(run, contract)
      writeFileSync(join(desk.home, 'a.csv'), `${sheet.join('\n')}\n`)
      writeFileSync(join(desk.home, 'badge.png'), png())
      const running = args && spawnCli([...name.split(' '), ...args, '--json'], desk.env, desk.home)
      const id = running ? await idOf(running) : await uploadBatch(url, name, lines ?? [])
      const rows = 1 + Math.floor(random() * kind.rows * 0.9)
      // What a row did may stand before its result does.
      const reached = random() < 0.5 ? written : () => batchOf.get(id)?.done ?? 0
      while (reached() < rows && isBusy(batchOf.get(id))) await sleep(1)
      const victim = running ? run % 3 : 1
      if (victim !== 1) running?.child.kill('SIGKILL')
      if (victim !== 0) await daemon.kill()
      const { state = '', done = 0 } = batchOf.get(id) ?? {}
      const who = ['its command', 'its daemon', 'both'][victim]
      const context = `${name}, run ${run}, ${id}: killed ${who} at ${done} rows, wanted ${rows}`
      if (victim !== 0) daemon = await start(port)
      await checkBatch(call, id, { rows: kind.rows, written, context })
      if (running && victim === 1) {
        // Whoever waited for it sees each row once.
        expect([await running.ended, running.stderr()], context).toEqual([0, expect.any(String)])
        const seen = running.stdout().trim().split('\n')
        expect(new Set(seen.map((line) => JSON.parse(line).row)).size, context).toBe(kind.rows)
        expect(seen.length, context).toBe(kind.rows)
      }
      if (kind.chain) await checkChain(name, kind)
      return state === 'running'
    } finally {
      desk.remove()
    }
  }

  /** Nothing was sent twice, nor left out. */
  async function checkChain(name: string, { rows, written }: KilledKind): Promise<void> {
    if (name === 'phygitals metadata') return
    const mined = written(run).replace('where', "where state in ('mined', 'confirmed') and succeeded = 1 and")
    await expect.poll(() => ask(mined)).toBe(rows)
    if (name === 'phygitals transfer') expect(await held(daemon, contract, run)).toBe(rows)
  }

  return {
    kill: async (name, kind, kills) => {
      const most = run + kills * 3 + 5
      for (let killed = 0; killed < kills; ) {
        expect(run, 'runs, of which too many ended before they could be killed').toBeLessThan(most)
        if (await killOne(name, kind)) killed += 1
      }
    },
    end: async () => {
      db.close()
      await daemon.kill()
      endAnvilOf(dataDir)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function idOf(running: Running | undefined): Promise<string> {
  await running?.until((_, stderr) => idIn(stderr) !== undefined)
  return idIn(running?.stderr() ?? '') ?? ''
}

const abi = parseAbi(['function balanceOf(address) view returns (uint256)'])
const held = async (daemon: DaemonProcess, contract: string, run: number): Promise<number> => {
  const client = createPublicClient({ transport: http(daemon.ready.chains['31337']) })
  const args = [ownerOf(run) as Address] as const
  return Number(
    await client.readContract({ address: contract as Address, abi, functionName: 'balanceOf', args }),
  )
}
