import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '../../src/daemon/store/database/open.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { adminToken } from './daemon.ts'
import { databaseOf, dropDatabaseOf } from './postgres.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { acmeKey, derived } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

export const uidOf = (n: number): string => `04D0${n.toString(16).padStart(8, '0').toUpperCase()}80`

export const seedOf = (chips: number) => ({
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      chipGroups: [
        { name: 'All', chips: Array.from({ length: chips }, (_, n) => ({ uid: uidOf(n), keySet: 101 })) },
      ],
    },
  ],
})

interface Settings {
  taps: number
  chips: number
  /** A daemon is killed each time that as many taps were answered. */
  tapsPerKill: number
  /** Taps a second; undefined: as many as can be. */
  rate: number | undefined
}

export interface TapLedger {
  kills: number
  /** Taps that were answered, valid or not. */
  answered: number
  /** Taps that were answered valid. */
  valid: number
  /** Requests that had no answer, and were sent again to whichever daemon was next. */
  unanswered: number
  /** Taps that were valid again: must be none. */
  twice: string[]
  /** Taps that were answered valid and are not on record: must be none. */
  lost: string[]
  /** Valid taps on record, and how many of them differ. */
  recorded: { rows: number; distinct: number }
  seconds: number
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))
/** How long one tap is tried before the run is given up. */
const patienceMs = 60_000

const freePort = () =>
  new Promise<number>((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const at = probe.address()
      probe.close(() => done(typeof at === 'object' && at ? at.port : 0))
    })
  })

/**
 * Two daemons in turn, of which one after the other is killed with -9 and started again. Each chip's taps come one after
 * another; a tap without an answer is sent again to the next daemon, and so is each tap that was answered valid.
 */
export async function tapUnderKills({ taps, chips, tapsPerKill, rate }: Settings): Promise<TapLedger> {
  const directory = mkdtempSync(join(tmpdir(), 'tapchip-fleet-'))
  const env: Record<string, string> = {
    ...(await databaseOf(directory)),
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_RATE_LIMIT: 'off',
  }
  const seed = join(directory, 'seed.json')
  writeFileSync(seed, JSON.stringify(seedOf(chips)))
  const ports = [await freePort(), await freePort()]
  const start = (n: number) =>
    spawnDaemon(
      [
        '--port',
        String(ports[n]),
        '--data-dir',
        join(directory, `d${n}`),
        ...(n === 0 ? ['--seed', seed] : []),
      ],
      env,
    )
  const daemons: (DaemonProcess | undefined)[] = []
  const ledger: TapLedger = {
    ...{ kills: 0, answered: 0, valid: 0, unanswered: 0, twice: [], lost: [], seconds: 0 },
    recorded: { rows: 0, distinct: 0 },
  }
  let restarting: Promise<void> = Promise.resolve()
  try {
    daemons.push(await start(0), await start(1))
    let turn = 0
    /** @returns whether the tap is valid */
    const ask = async (path: string): Promise<boolean> => {
      const until = performance.now() + patienceMs
      for (;;) {
        turn += 1
        try {
          const response = await fetch(`http://127.0.0.1:${ports[turn % 2]}${path}`)
          const body = (await response.json()) as { isValidTap?: boolean }
          if (response.status === 200) return body.isValidTap === true
        } catch {}
        ledger.unanswered += 1
        if (performance.now() > until) throw new Error('No daemon answers')
        await pause(20)
      }
    }
    const kill = async () => {
      const n = ledger.kills % 2
      const victim = daemons[n]
      if (!victim) return
      ledger.kills += 1
      daemons[n] = undefined
      await victim.kill()
      daemons[n] = await start(n)
    }
    const seenValid: string[] = []
    let next = 0
    const began = performance.now()
    const holder = async (n: number) => {
      for (let counter = 1; next < taps; counter += 1) {
        const at = next
        next += 1
        if (rate !== undefined) await pause(Math.max(0, began + (at * 1000) / rate - performance.now()))
        // Half of the taps of a kill meet one daemon, half meet two: without that all would be over before the second kill.
        else if (ledger.answered % tapsPerKill > tapsPerKill / 2) await restarting
        const path = tapPath(tap(derived, { uid: uidOf(n) }, counter), '/chips/find')
        const isValid = await ask(path)
        ledger.answered += 1
        // Asked before anything is awaited: other chips' taps are counted meanwhile.
        if (ledger.answered % tapsPerKill === 0) restarting = restarting.then(kill)
        if (isValid) {
          ledger.valid += 1
          seenValid.push(`${uidFromBytes(Buffer.from(uidOf(n), 'hex'))} ${counter}`)
          if (at % 5 === 0 && (await ask(path))) ledger.twice.push(path)
        }
      }
    }
    await Promise.all(Array.from({ length: chips }, (_, n) => holder(n)))
    ledger.seconds = Math.round((performance.now() - began) / 100) / 10
    await restarting
    const db = await openPostgres(env.TAPCHIP_DATABASE_URL ?? '')
    try {
      const rows = await db.slow
        .selectFrom('taps')
        .select(['chipUid', 'counter'])
        .where('outcome', '=', 'valid')
        .execute()
      const recorded = new Set(rows.map(({ chipUid, counter }) => `${chipUid} ${counter}`))
      ledger.recorded = { rows: rows.length, distinct: recorded.size }
      ledger.lost = seenValid.filter((one) => !recorded.has(one))
    } finally {
      await db.close()
    }
    // Once more for a chip's last tap and all before it, at daemons that never saw some of them.
    for (let n = 0; n < chips; n += 7)
      for (const counter of [1, 2])
        if (await ask(tapPath(tap(derived, { uid: uidOf(n) }, counter), '/chips/find')))
          ledger.twice.push(`${uidOf(n)} ${counter}`)
    return ledger
  } finally {
    await restarting.catch(() => undefined)
    await Promise.all(daemons.map((daemon) => daemon?.kill()))
    rmSync(directory, { recursive: true, force: true })
    await dropDatabaseOf(directory)
  }
}
