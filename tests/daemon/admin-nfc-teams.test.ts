import { afterEach, beforeEach, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { planReset } from '../../src/nfc/provision/plan.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { Chip, inA, keySets, nfcSeed, talk } from '../support/nfc.ts'
import { acmeKey, otherKey } from '../support/seeds.ts'

// Two teams with a table each, and a key of all scopes each.

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed: nfcSeed })
})
afterEach(() => t.close())

const acme = { 'x-svc-api-key': acmeKey }
const other = { 'x-svc-api-key': otherKey }
const inOther = { ...inA, team: 'Other', chipGroup: 'Hats' }
const run = (chip: Chip, body: object, headers: Record<string, string>) =>
  talk(t.call, chip.put(), { ...body }, { headers, onInspected: () => ({}) })
const journal = async (headers: Record<string, string>) =>
  (await t.call('GET /admin/nfc/journal?all=true', undefined, headers)).body
const actions = async (headers: Record<string, string>) =>
  (await t.call('GET /admin/audit', undefined, headers)).body.map(({ action }: { action: string }) => action)

test('a table sets up, resets and lists the chips of its own team', async () => {
  const chip = new Chip()
  expect(await run(chip, inA, acme)).toMatchObject({ status: 'provisioned' })
  expect(await run(chip, { purpose: 'recover' }, acme)).toMatchObject({ status: 'provisioned' })
  expect(await run(chip, { purpose: 'reset' }, acme)).toMatchObject({ status: 'factory' })
  expect(await journal(acme)).toHaveLength(2)
  expect(await journal(other)).toEqual([])
  // Also a reset, which names no team of its own.
  expect(await actions(acme)).toContain('nfc.reset')
  expect(await actions(other)).toEqual(['teams.create'])
})

test("another team's chip stays as it is, whatever is asked of it", async () => {
  const chip = new Chip()
  await run(chip, { ...inA, label: 'J-1' }, acme)
  const { keys } = chip
  const asked = [
    inOther,
    { ...inOther, rekey: true },
    { ...inOther, waitForDetails: true },
    { purpose: 'recover' },
    { purpose: 'reset' },
    { purpose: 'reset', waitForDetails: true },
    { purpose: 'reset', keys },
  ]
  for (const body of asked) {
    const ended = await run(chip, body, other)
    expect(ended).toMatchObject({ status: 'failed', code: 'conflict' })
    expect(JSON.stringify(ended)).not.toMatch(/Acme|Jackets|J-1/)
  }
  expect(chip.keys).toEqual(keys)
  expect(await run(chip, inA, acme)).toMatchObject({ status: 'unchanged' })
})

test('nor can a chip be taken over whose set-up another team has begun', async () => {
  const chip = new Chip()
  const torn = chip.put({ apdu: 14, when: 'after' })
  await expect(talk(t.call, torn, { ...inA }, { headers: acme })).rejects.toThrow(CardGone)
  for (const body of [inOther, { ...inOther, rekey: true }, { purpose: 'recover' }, { purpose: 'reset' }])
    expect(await run(chip, body, other)).toMatchObject({ status: 'failed', code: 'conflict' })
  expect(await run(chip, { purpose: 'recover' }, acme)).toMatchObject({ status: 'provisioned' })
})

test('a chip that a team has removed can be set up by another', async () => {
  const chip = new Chip()
  await run(chip, inA, acme)
  await t.call(`DELETE /admin/chips/${chip.uid}`, undefined, acme)
  expect(await run(chip, { purpose: 'recover' }, other)).toMatchObject({
    status: 'failed',
    code: 'not_found',
  })
  expect(await run(chip, { ...inOther, rekey: true }, other)).toMatchObject({ status: 'provisioned' })
})

test('a key that all chips of a set share is shown to one team alone', async () => {
  const one = { keySet: keySets.one.id }
  expect(await run(new Chip(), { ...inA, ...one }, acme)).toMatchObject({ status: 'provisioned' })
  expect(await run(new Chip(), { ...inA, ...one }, acme)).toMatchObject({ status: 'provisioned' })
  const refused = await t.call('POST /admin/nfc/sessions', { ...inOther, ...one }, other)
  expect(refused).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('admin token without a team') },
  })
})

test("a team's journal is found among many plans of others, by pages", async () => {
  const plan = (uid: string) => JSON.stringify(planReset({ uid, from: ['factory'] }))
  const at = '2026-06-01T12:00:00.000Z'
  const [{ teamId } = { teamId: 0 }] = await t.ctx.db.read
    .selectFrom('apiKeys')
    .select('teamId')
    .orderBy('id')
    .execute()
  const registration = JSON.stringify({ teamId, chipGroupId: 1, details: { label: '"teamId":2,' } })
  const rows = Array.from({ length: 5000 }, (_, n) => {
    const uid = String(1_300_000_000_000_000 + n)
    const own = n % 2400 === 0 ? { registration } : {}
    const closed = { openedAt: at, openedBy: 'key:ops', closedAt: at, outcome: 'done' as const }
    return { uid, purpose: 'reset' as const, plan: plan(uid), ...closed, ...own }
  })
  await t.ctx.db.write(async (trx) => {
    for (let from = 0; from < rows.length; from += 500)
      await trx
        .insertInto('nfcPlans')
        .values(rows.slice(from, from + 500))
        .execute()
  })
  const page = async (query: string, headers = acme) =>
    (await t.call(`GET /admin/nfc/journal?all=true${query}`, undefined, headers)).body.map(
      ({ id }: { id: number }) => id,
    )
  expect(await page('')).toEqual([4801, 2401, 1])
  expect(await page('&limit=1')).toEqual([4801])
  expect(await page('&before=4801')).toEqual([2401, 1])
  expect(await page('&before=999999999')).toEqual([4801, 2401, 1])
  expect(await page('', other)).toEqual([])
})
