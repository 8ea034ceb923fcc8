import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { openTestApp, type TestApp, type TestClock, testClock } from '../support/daemon.ts'
import { ownerEdit } from '../support/owner-edit.ts'
import { bob, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// A machine's clock jumps: an hour back, a year ahead and back again, to 1970 where its battery is empty.

const year = '365d'
let clock: TestClock
let dataDir: string
beforeEach(() => {
  // Ahead of any database's own clock: it is the daemon's that is set back, and not one that was always slow.
  clock = testClock('2090-06-01T12:00:00.000Z')
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-clock-'))
})
const closers: (() => Promise<void>)[] = []
const closeAll = async () => {
  for (const close of closers.splice(0).reverse()) await close()
}
afterEach(async () => {
  await closeAll()
  rmSync(dataDir, { recursive: true, force: true })
})

const open = async (env: Record<string, string> = {}): Promise<TestApp> => {
  const t = await openTestApp({ seed, clock, dataDir, env })
  closers.push(t.close)
  return t
}
const withChain = async (): Promise<Phygitals> => {
  const p = await openPhygitals({ clock, dataDir })
  closers.push(p.close)
  return p
}
const status = async (t: TestApp) => (await t.app.inject({ url: '/admin/status', headers: t.admin })).json()

describe('what is measured', () => {
  test.each(['-1h', year])('a rate limit is what it was when the clock jumps by %s', async (span) => {
    const t = await open({ TAPCHIP_RATE_LIMIT: '3' })
    const ask = async () => {
      const { statusCode, headers } = await t.app.inject('/refs/none')
      return statusCode === 429 ? Number(headers['retry-after']) : 'served'
    }
    expect(await ask()).toBe('served')
    clock.jump(span)
    expect([await ask(), await ask(), await ask()]).toEqual(['served', 'served', 20])
    clock.jump(span)
    expect(await ask()).toBe(20)
    clock.advance('20s')
    expect([await ask(), await ask()]).toEqual(['served', 20])
  })

  test('the uptime is what passed', async () => {
    const t = await open()
    clock.advance('90s')
    clock.jump('-1h')
    expect((await status(t)).uptimeSeconds).toBe(90)
    clock.jump(year)
    expect((await status(t)).uptimeSeconds).toBe(90)
  })
})

describe('what keeps a thing from being done twice', () => {
  const move = async (p: Phygitals, key: string) =>
    p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 1), recipient: bob },
      { key: acmeKey, headers: { 'idempotency-key': key } },
    )

  test('the same Idempotency-Key is the same transaction, a year ahead and once that is mended', async () => {
    let p = await withChain()
    const first = await move(p, 'k')
    expect(first.status).toBe(200)
    const count = (await p.transactions()).length
    const isTheSame = async () => {
      await cleanUp(p.ctx)
      await p.ctx.clock?.check?.()
      expect(await move(p, 'k')).toMatchObject({ status: 200, body: first.body })
      expect((await p.transactions()).length).toBe(count)
    }
    clock.jump(year)
    await isTheSame()
    clock.jump(`-${year}`)
    await isTheSame()
    for (const span of [year, `-${year}`, '-20000d', '20000d']) {
      await closeAll()
      clock.jump(span)
      p = await withChain()
      await isTheSame()
    }
  })

  test('an Idempotency-Key lives for a day in which the daemon runs', async () => {
    const t = await open()
    const lived = () => t.ctx.clock.uptime()
    const start = lived()
    clock.advance('23h')
    await closeAll()
    clock.jump('30d')
    const again = await open()
    expect(again.ctx.clock.uptime() - start).toBe(23 * 3_600_000)
    const row = { scope: 'team:1', requestHash: '', transactionId: null, answer: null, createdAt: '' }
    await again.ctx.db.write((trx) =>
      trx
        .insertInto('idempotencyKeys')
        .values({ ...row, key: 'k', expiresAt: new Date(start + 24 * 3_600_000).toISOString() })
        .execute(),
    )
    const isKept = async () => {
      await cleanUp(again.ctx)
      return (await again.ctx.db.read.selectFrom('idempotencyKeys').selectAll().execute()).length === 1
    }
    clock.jump(year)
    expect(await isKept()).toBe(true)
    clock.advance('59m')
    expect(await isKept()).toBe(true)
    clock.advance('1m')
    expect(await isKept()).toBe(false)
  })

  test("an owner's signature that was used is refused again, a year ahead and once that is mended", async () => {
    const p = await withChain()
    const owner = privateKeyToAccount(generatePrivateKey())
    await p.ask('/phygitals/transfer', { ...p.token('JKT', 1), recipient: owner.address }, { key: acmeKey })
    await p.settled()
    const requestExpiryTime = Math.floor(clock.now() / 1000) + 300
    const updates = { redirectUrl: 'https://owner.example/' }
    const ownerSignature = await owner.signTypedData(
      ownerEdit(p.addressOf('JKT'), 1, updates.redirectUrl, requestExpiryTime),
    )
    const edit = async () => {
      const body = { ...p.token('JKT', 1), updates, requestExpiryTime, ownerSignature }
      const answer = await p.ask('/chips/self-service', body, { method: 'PATCH' })
      return answer.body.code ?? answer.status
    }
    expect(await edit()).toBe(200)
    clock.jump(year)
    await cleanUp(p.ctx)
    expect(await edit()).toBe('signature_expired')
    clock.jump(`-${year}`)
    expect(await edit()).toBe('signature_used')
  })
})

describe('refs and codes', () => {
  const refOf = async (t: TestApp, uid: string, counter: number): Promise<string> => {
    const page = await t.app.inject({ url: tapPath(tap(derived, { uid }, counter)) })
    return /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
  }
  const isValid = async (t: TestApp, ref: string) =>
    (await t.app.inject(`/refs/${ref}`)).json().isValidRef as boolean

  test.each(['while it runs', 'at a restart'])(
    'that were made before the clock was set back end then, %s',
    async (when) => {
      let p = await withChain()
      const before = await p.code(chips.jacket(1))
      clock.jump(year)
      await p.ctx.clock.check()
      const [code, ref] = [await p.code(chips.jacket(2)), await p.refOf(chips.jacket(3))]
      expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
      if (when === 'at a restart') await closeAll()
      clock.jump(`-${year}`)
      if (when === 'at a restart') p = await withChain()
      else await p.ctx.clock.check()
      for (const mended of ['0d', year]) {
        clock.jump(mended)
        for (const one of [before, code]) {
          expect((await p.ask(`/otps/${one}`)).body.isExpired).toBe(true)
          const answer = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code: one })
          expect(answer.body.code).toBe('otp_expired')
        }
        expect((await p.ask(`/refs/${ref}`)).body.isValidRef).toBe(false)
      }
    },
  )

  test('of new taps are good at once', async () => {
    const t = await open()
    const url = tapPath(tap(derived, { uid: uids.blank }, 1))
    const page = await t.app.inject({ url })
    const old = /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const cookie = String(page.headers['set-cookie']).split(';')[0] ?? ''
    const again = async () => (await t.app.inject({ url, headers: { cookie } })).statusCode
    expect(await again()).toBe(200)
    clock.jump('-1h')
    await t.ctx.clock.check()
    expect(await isValid(t, old)).toBe(false)
    // Its page is not loaded again either: it would show what has ended.
    expect(await again()).toBe(410)
    expect(await isValid(t, await refOf(t, uids.blank, 2))).toBe(true)
  })

  test('stay where a clock is put right by seconds', async () => {
    const t = await open()
    const ref = await refOf(t, uids.blank, 1)
    clock.jump('-4m')
    await t.ctx.clock.check()
    expect(await isValid(t, ref)).toBe(true)
  })
})

describe("a team's day", () => {
  const limit = async (p: Phygitals, transactionsPerDay: number) =>
    p.ask('/admin/teams/1', { transactionsPerDay }, { method: 'PATCH', headers: p.admin })
  const move = (p: Phygitals, n: number) =>
    p.ask('/phygitals/transfer', { ...p.token('JKT', n), recipient: bob }, { key: acmeKey })

  test('is not begun anew by a clock that jumps, and ends as it would have', async () => {
    const p = await withChain()
    await limit(p, 1)
    expect((await move(p, 1)).status).toBe(200)
    const retryAfter = async () => Number((await move(p, 2)).headers['retry-after'])
    for (const span of [year, `-${year}`, year, '-1h', '-364d']) {
      clock.jump(span)
      expect(await retryAfter()).toBe(43_200)
    }
    clock.advance('12h')
    expect((await move(p, 2)).status).toBe(200)
    expect((await move(p, 3)).status).toBe(429)
  })

  test('is that of the new time once that has lasted for a day', async () => {
    const p = await withChain()
    await limit(p, 1)
    clock.jump('6h')
    expect((await move(p, 1)).status).toBe(200)
    clock.advance('23h')
    expect((await move(p, 2)).status).toBe(200)
    // 18:00 and a day: six hours are left, not twelve.
    clock.advance('1h')
    expect(Number((await move(p, 3)).headers['retry-after'])).toBe(6 * 3600)
  })

  test('that was spent a year ahead is over at the next midnight after that was mended, also by a restart', async () => {
    clock.jump(year)
    let p = await withChain()
    await limit(p, 1)
    expect((await move(p, 1)).status).toBe(200)
    await closeAll()
    clock.jump(`-${year}`)
    p = await withChain()
    await cleanUp(p.ctx)
    expect(Number((await move(p, 2)).headers['retry-after'])).toBe(43_200)
    clock.advance('12h')
    expect((await move(p, 2)).status).toBe(200)
  })
})

describe('a jump', () => {
  test('is told of for a day, in the log, by /readyz and by the status', async () => {
    const lines: string[] = []
    const t = await openTestApp({ seed, clock, log: (line) => lines.push(line) })
    closers.push(t.close)
    const ready = async () => (await t.app.inject('/readyz')).json()
    expect([await ready(), (await status(t)).warnings]).toMatchObject([{ status: 'ready' }, []])
    clock.jump(year)
    await t.ctx.clock.check()
    expect(await ready()).toMatchObject({ status: 'ready', clock: 'jumped' })
    expect((await status(t)).warnings).toEqual([
      'The clock says 2091-06-01T12:00:00.000Z, 365 days later all at once. If that is wrong, correct it: see "When the clock was wrong" in docs/daemon.md.',
    ])
    clock.jump(`-${year}`)
    await t.ctx.clock.check()
    expect((await status(t)).warnings).toEqual([
      expect.stringMatching(/^The clock was set back: it says 2090-06-01T12.*365 days earlier.*tap again/),
    ])
    const told = lines.map((line) => JSON.parse(line)).filter(({ jumpSeconds }) => jumpSeconds)
    expect(told.map(({ jumpSeconds }) => jumpSeconds)).toEqual([365 * 86_400, -365 * 86_400])
    clock.advance('1d')
    expect([await ready(), (await status(t)).warnings]).toMatchObject([{ status: 'ready' }, []])
  })

  test('that is mended leaves nothing put off to the date that it had', async () => {
    const t = await open()
    const token = { chainId: 1, contract: '0x', tokenId: '1', reason: null, doneAt: null, givenUpAt: null }
    clock.jump(year)
    await t.ctx.clock.check()
    const dueAt = new Date(clock.now() + 60_000).toISOString()
    await t.ctx.db.write((trx) =>
      trx
        .insertInto('marketplaceRefreshes')
        .values({ ...token, dueAt, createdAt: dueAt })
        .execute(),
    )
    clock.jump(`-${year}`)
    await t.ctx.clock.check()
    expect(await t.ctx.db.read.selectFrom('marketplaceRefreshes').select('dueAt').execute()).toEqual([
      { dueAt: new Date(clock.now()).toISOString() },
    ])
  })

  test.each([
    ['-1h', /60 minutes earlier than when the daemon last ran/],
    ['31d', /31 days later than when the daemon last ran/],
  ])('by %s while the daemon did not run is told of at its start', async (span, words) => {
    await open()
    await closeAll()
    clock.jump(span)
    expect((await status(await open())).warnings).toEqual([expect.stringMatching(words)])
  })

  test('that could not be followed up is so once the store can be written again', async () => {
    const t = await open()
    const { write } = t.ctx.db
    clock.jump('-1h')
    t.ctx.db.write = () => Promise.reject(new Error('no space'))
    await expect(t.ctx.clock.check()).rejects.toThrow('no space')
    t.ctx.db.write = write
    expect((await t.app.inject(tapPath(tap(derived, { uid: uids.blank }, 1)))).statusCode).toBe(200)
    await t.ctx.clock.check()
    const kept = await t.ctx.db.read.selectFrom('settings').selectAll().execute()
    expect(kept).toContainEqual({ key: 'lastTapBefore', value: '1' })
  })
})
