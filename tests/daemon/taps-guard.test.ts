import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findChipByTap } from '../../src/daemon/domain/taps/find-chip.ts'
import { openTap } from '../../src/daemon/domain/taps/open-tap.ts'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { tapConditions } from '../../src/daemon/store/taps/take-tap.ts'
import type { TapInsert } from '../../src/daemon/store/taps/tap-insert.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { derived, plain, seed, uids } from '../support/seeds.ts'
import { addBadge, type TapAnswer, type TapChange, tapChanges } from '../support/tap-changes.ts'
import { tap } from '../support/taps.ts'
import { takeTapWithout } from '../support/taps-without.ts'

// Between the look at a chip and the write that takes its tap, anything may change. For each thing that a tap depends
// on, the write notices it by one condition, and by that one alone.

type Query = Record<string, string>

const decimal = (hex: string) => BigInt(`0x${hex}`).toString()

let t: TestApp
let counter = 20

const nextTap = ({ hex, t: status }: Pick<TapChange, 'hex' | 't'>): Query => {
  counter += 1
  return tap(derived, { uid: hex, ...(status === undefined ? {} : { t: status }) }, counter)
}

/** All that the changes change. */
async function sampleOf({ read }: Db) {
  const chips = await read.selectFrom('chips').selectAll().execute()
  const badges = await read.selectFrom('badgeAssignments').selectAll().execute()
  const guestbooks = await read.selectFrom('guestbookAssignments').selectAll().execute()
  return { chips, badges, guestbooks }
}
let sample: Awaited<ReturnType<typeof sampleOf>>

beforeAll(async () => {
  t = await openTestApp({ seed, clock: testClock() })
  const made = { url: 'https://hooks.acme.example/in', team: 'Acme' }
  const payload = { ...made, events: ['tap.valid', 'chip.opened'] }
  const answer = await t.app.inject({ method: 'POST', url: '/admin/webhooks', headers: t.admin, payload })
  expect(answer.statusCode).toBe(200)
  sample = await sampleOf(t.ctx.db)
})
afterEach(async () => {
  await t.ctx.db.write(async (trx) => {
    for (const { lastTap, lastTapAt, lastCounter, ...chip } of sample.chips)
      await trx.updateTable('chips').set(chip).where('uid', '=', chip.uid).execute()
    await trx.deleteFrom('badgeAssignments').execute()
    await trx.deleteFrom('guestbookAssignments').execute()
    await trx.insertInto('badgeAssignments').values(sample.badges).execute()
    await trx.insertInto('guestbookAssignments').values(sample.guestbooks).execute()
  })
})
afterAll(() => t.close())

/** A tap as an app sends it. */
async function find(db: Db, query: Query): Promise<TapAnswer> {
  const { isValidTap, token, badgeEvent, otp } = await findChipByTap({ ...t.ctx, db }, query)
  const code = otp && (await t.app.inject({ url: `/otps/${otp.code}` })).json()
  expect(code?.isExpired).not.toBe(true)
  return {
    kind: isValidTap ? 'valid' : 'refused',
    token: token?.tokenId,
    badge: badgeEvent?.name,
    code: code?.type,
  }
}

/** A tap as a person makes it. */
async function open(db: Db, query: Query): Promise<TapAnswer> {
  const response = await openTap<string>({ ...t.ctx, db }, query, [], async () => 'page')
  return { kind: response.kind === 'refused' ? response.reason : response.kind }
}

/** A store of which the first tap meets something. */
function meeting(meet: (tap: TapInsert) => Promise<number | undefined>): Db {
  const { db } = t.ctx
  let isFirst = true
  return {
    ...db,
    takeTap: (tap) => {
      if (!isFirst) return db.takeTap(tap)
      isFirst = false
      return meet(tap)
    },
  }
}

/** What a tap writes. */
async function written({ chipUid }: { chipUid: string }) {
  const { db, tapLog } = t.ctx
  // Refused taps are stored later, with others.
  await tapLog.flush()
  const { read } = db
  const chip = await read.selectFrom('chips').selectAll().where('uid', '=', chipUid).executeTakeFirst()
  const taps = await read
    .selectFrom('taps')
    .selectAll()
    .where('chipUid', '=', chipUid)
    .orderBy('id')
    .execute()
  const messages = await read
    .selectFrom('webhookDeliveries')
    .select('type')
    .where('chipUid', '=', chipUid)
    .orderBy('id')
    .execute()
  return { taps, chip, messages: messages.map(({ type }) => type) }
}

test('each condition of the write is met here', () => {
  const met = new Set(tapChanges.map(({ condition }) => condition))
  expect(met).toEqual(new Set(Object.keys(tapConditions)))
})

describe.each(tapChanges)('$condition: $what', (one) => {
  const ask = one.isPage ? open : find
  const chip = { chipUid: decimal(one.hex) }

  test('the write takes nothing, and the tap is judged anew', async () => {
    const before = await written(chip)
    const db = meeting(async (tap) => {
      await t.ctx.db.write((trx) => one.change(trx, tap))
      const rows = await written(chip)
      expect(await t.ctx.db.takeTap(tap)).toBeUndefined()
      expect(await written(chip)).toEqual(rows)
      return undefined
    })
    expect(await ask(db, nextTap(one))).toEqual(one.answer)
    const after = await written(chip)
    const isTold = one.outcome === 'valid' && one.condition !== 'team'
    expect({
      taps: after.taps.slice(before.taps.length).map(({ outcome, counter, teamId }) => ({
        ...{ outcome, counter, teamId },
      })),
      messages: after.messages.slice(before.messages.length),
    }).toEqual({
      taps: [{ outcome: one.outcome, counter: expect.toSatisfy(isOwn), teamId: after.chip?.teamId }],
      messages: isTold ? ['tap.valid'] : [],
    })
  })

  /** A tap that was not made by the chip as it is now does not say its counter. */
  const isOwn = (of: unknown) => of === counter || (of === null && one.outcome === 'wrong-mac')

  test('without the condition, the tap is taken as it was judged before', async () => {
    const takeWithout = await takeTapWithout(one.condition, { db: t.ctx.db, dataDir: t.dataDir })
    const taken = new Error('taken')
    const db = meeting(async (tap) => {
      await t.ctx.db.write((trx) => one.change(trx, tap))
      const before = await written(chip)
      expect(await takeWithout(tap)).toBeDefined()
      const { taps } = await written(chip)
      expect(taps.slice(before.taps.length)).toMatchObject([{ outcome: 'valid', counter }])
      throw taken
    })
    await expect(ask(db, nextTap(one))).rejects.toBe(taken)
  })
})

test('a chip that was removed is not known any more', async () => {
  const db = meeting(async (tap) => {
    await t.ctx.db.write((trx) => trx.deleteFrom('chips').where('uid', '=', tap.seen.uid).execute())
    expect(await t.ctx.db.takeTap(tap)).toBeUndefined()
    return undefined
  })
  const asked = findChipByTap({ ...t.ctx, db }, tap(plain, { uid: uids.plain }, 1))
  await expect(asked).rejects.toMatchObject({ code: 'not_found' })
})

test('the page of a tap depends on no events: its codes are made later', async () => {
  const db = meeting(async (tap) => {
    await t.ctx.db.write((trx) => addBadge('chipUid')(trx, tap))
    const id = await t.ctx.db.takeTap(tap)
    expect(id).toBeDefined()
    return id
  })
  expect(await open(db, nextTap({ hex: uids.blank }))).toEqual({ kind: 'page' })
})

test('a chip that is being changed without end uses no tap up, and the answer says so', async () => {
  const { db } = t.ctx
  let attempts = 0
  const changing: Db = {
    ...db,
    takeTap: async (tap) => {
      attempts += 1
      const redirectUrl = `https://acme.example/${attempts}`
      await db.write((trx) =>
        trx.updateTable('chips').set({ redirectUrl }).where('uid', '=', tap.seen.uid).execute(),
      )
      return db.takeTap(tap)
    },
  }
  const query = nextTap({ hex: uids.blank })
  const asked = findChipByTap({ ...t.ctx, db: changing }, query)
  await expect(asked).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(attempts).toBe(20)
  expect(await find(db, query)).toEqual({ kind: 'valid' })
})
