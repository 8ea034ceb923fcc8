import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import { DaemonOnDisk } from '../support/daemon-on-disk.ts'
import { randomFrom } from '../support/random.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { openReceiver } from '../support/webhooks.ts'

const wanted = 10_000
const hands = 40
const uidOf = (n: number): string => `04C0${n.toString(16).padStart(8, '0').toUpperCase()}80`
const killedAt = [1500, 4000, 7000]
/** Of one message: more in a row would only make the test longer. */
const failuresInRow = 3

const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      chipGroups: [
        {
          name: 'Jackets',
          chips: Array.from({ length: hands }, (_, n) => ({ uid: uidOf(n), keySet: 101 })),
        },
      ],
    },
  ],
}

test('10,000 taps, a receiver that fails a third of the time, and three kills: each is told, each under one ID', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-webhooks-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const env = { TAPCHIP_WEBHOOKS_PRIVATE: 'on', TAPCHIP_DEV_CHAIN: 'off' }
  const start = () => DaemonOnDisk.start(dir, ['--seed', seedFile, '--log-level', 'warn'], env)
  const random = randomFrom(1)
  const failures = new Map<string, number>()
  /** By tap: the IDs under which it was taken. */
  const told = new Map<string, Set<string>>()
  const firstSeen = new Map<string, number[]>()
  let tries = 0
  const receiver = await openReceiver(({ id, data }, response) => {
    tries += 1
    const failed = failures.get(id)
    if (failed === undefined) {
      const seen = firstSeen.get(data.uid) ?? []
      firstSeen.set(data.uid, seen)
      seen.push(data.counter)
    }
    const isFailure = random() < 1 / 3 && (failed ?? 0) < failuresInRow
    failures.set(id, (failed ?? 0) + Number(isFailure))
    response.writeHead(isFailure ? 500 : 204).end()
    if (isFailure) return
    const tapped = `${data.uid}/${data.counter}`
    told.set(tapped, (told.get(tapped) ?? new Set()).add(id))
  })
  let daemon = await start()
  let restarted = Promise.resolve()
  try {
    const made = await daemon.call('POST /admin/webhooks', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, events: ['tap.valid'] }),
    })
    expect(made.status).toBe(200)
    let valid = 0
    let kills = 0
    const hand = async (n: number) => {
      for (let counter = 1; valid < wanted; counter += 1) {
        const path = tapPath(tap(derived, { uid: uidOf(n) }, counter), '/chips/find')
        // An answer that was lost is of no matter: the database says which taps were taken.
        const answer = await daemon.call(`GET ${path}`).catch(() => undefined)
        if (answer?.body?.isValidTap) valid += 1
        if (answer === undefined) await restarted
        if (valid >= (killedAt[kills] ?? Number.POSITIVE_INFINITY)) {
          kills += 1
          restarted = daemon.end('SIGKILL').then(async () => {
            daemon = await start()
          })
        }
      }
    }
    await Promise.all(Array.from({ length: hands }, (_, n) => hand(n)))
    await restarted
    expect(kills).toBe(killedAt.length)
    const db = new Database(join(dir, 'data', 'tapchip.db'), { readonly: true })
    const rows = db
      .prepare("select chipUid || '/' || counter from taps where outcome = 'valid'")
      .pluck()
      .all()
    db.close()
    const taken = new Set(rows.map(String))
    expect(taken.size).toBeGreaterThanOrEqual(wanted)
    await receiver.until(() => told.size >= taken.size)
    expect([...told.keys()].filter((tapped) => !taken.has(tapped))).toEqual([])
    expect([...taken].filter((tapped) => !told.has(tapped))).toEqual([])
    expect([...told.values()].filter((ids) => ids.size !== 1)).toEqual([])
    expect(failures.size).toBe(taken.size)
    for (const counters of firstSeen.values()) expect(counters).toEqual([...counters].sort((a, b) => a - b))
    expect(tries).toBeGreaterThan(taken.size * 1.3)
  } finally {
    receiver.close()
    await daemon.end('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}, 240_000)

test('a receiver that takes nothing gets no more than 100,000 waiting: then it is disabled, and all is dropped', async () => {
  const receiver = await openReceiver(() => undefined)
  const t = await openAdminApp({ env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' } })
  try {
    const team = (await t.call('POST /admin/teams', { name: 'Acme' })).body
    await t.call('POST /admin/webhooks', { url: receiver.url })
    const at = new Date().toISOString()
    const event = { teamId: team.id, type: 'tap.valid', at, data: { uid: '1' } } as const
    for (let written = 0; written <= 100_000; written += 1000)
      await t.ctx.db.write(async (trx) => {
        for (let n = 0; n < 1000; n += 1) await t.ctx.webhookEvents.record(trx, event)
      })
    t.ctx.webhooks.start()
    const shown = async () => (await t.call('GET /admin/webhooks')).body[0]
    for (let now = await shown(); now.disabledAt === null || now.waiting > 0; now = await shown())
      await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await shown()).disabledReason).toBe('more than 100000 deliveries were waiting')
    await t.ctx.db.write((trx) => t.ctx.webhookEvents.record(trx, event))
    expect((await shown()).waiting).toBe(0)
  } finally {
    receiver.close()
    await t.close()
  }
}, 120_000)
