import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { openTestApp } from '../support/daemon.ts'
import { openTestStore } from '../support/engines.ts'
import { haloChip } from '../support/halo.ts'
import { dropDatabaseOf } from '../support/postgres.ts'
import { versionBefore } from '../support/schemas.ts'
import { tapPath } from '../support/taps.ts'

const chip = haloChip('forms')
const group = { name: 'HaLo', chips: [{ family: 'halo', publicKey: chip.pk2 }] }
const seed = { version: 1, teams: [{ name: 'Acme', chipGroups: [group] }] }

const signedBy = (rnd: Buffer): string =>
  createHash('sha256').update('\x19Attest counter pk2:\n').update(rnd).digest('hex')

/** What passes for a tap of the older family if a newer chip's signature is taken for one. */
const disguised = ({ rnd, rndsig }: ReturnType<typeof chip.tap>) => ({
  static: chip.static,
  cmd: `8102${signedBy(Buffer.from(rnd, 'hex'))}00`,
  res: rndsig,
})

/** The counter is the beginning of a hash, so nearly all disguises count too far. @param zeros hex digits that it begins with */
const disguisable = (zeros: string) => {
  for (let counter = 1; ; counter += 1)
    if (signedBy(chip.challenge(counter)).startsWith(zeros)) return chip.tap(counter)
}

describe('taps of HaLo chips', () => {
  let t: AdminApp
  beforeEach(async () => {
    t = await openAdminApp({ seed })
  })
  afterEach(() => t.close())
  const find = (tap: Record<string, string>) => t.call(`GET ${tapPath(tap, '/chips/find')}`)
  const isValid = async (tap: Record<string, string>) => (await find(tap)).body.isValidTap

  test('of the older family are valid once, in order', async () => {
    const [second, fifth] = [chip.olderTap(2), chip.olderTap(5)]
    const answers = await Promise.all(Array.from({ length: 10 }, () => isValid(second)))
    expect(answers.filter((valid) => valid)).toHaveLength(1)
    expect([await isValid(fifth), await isValid(second), await isValid(chip.olderTap(4))]).toEqual([
      ...[true, false, false],
    ])
    const page = await t.app.inject({ url: tapPath(chip.olderTap(6)) })
    expect(page.statusCode).toBe(200)
    const [last] = (await t.call('GET /admin/taps')).body
    expect(last).toMatchObject({ outcome: 'valid', counter: 6, via: 'page' })
  })

  test('without a counter are refused, with the reason', async () => {
    const { status, body } = await find({ ...chip.olderTap(1), cmd: `0102${'11'.repeat(32)}00` })
    expect([status, body.message]).toEqual([400, expect.stringContaining('cmd has no counter, so a copy')])
  })

  test('of a newer chip do not make it an older one, unless one has waited for very many', async () => {
    const { status, body } = await find(disguised(disguisable('00')))
    expect([status, body.message]).toEqual([400, expect.stringContaining('cmd has no counter')])
    expect(await isValid(chip.tap())).toBe(true)
  })

  test('of a newer chip are not valid a second time in the form of the older family', async () => {
    const tap = disguisable('0000')
    expect(await isValid(tap)).toBe(true)
    expect(await isValid(disguised(tap))).toBe(false)
    const { uid } = (await find(tap)).body
    expect((await t.call(`DELETE /admin/chips/${uid}`)).status).toBe(200)
    const body = `publicKey\n${chip.pk2}\n`
    const headers = { ...t.admin, 'content-type': 'text/csv' }
    const url = '/admin/chips/import?team=Acme&chipGroup=HaLo'
    await t.app.inject({ method: 'POST', url, headers, payload: body })
    expect(await isValid(disguised(tap))).toBe(false)
  })

  test('come in one form only, which the first tap decides, also among ten at once', async () => {
    const taps = Array.from({ length: 10 }, (_, i) => (i % 2 ? chip.tap(i + 1) : chip.olderTap(i + 1)))
    await Promise.all(taps.map(isValid))
    const stored = await t.ctx.db.read.selectFrom('chips').select('haloForm').executeTakeFirstOrThrow()
    const counters = await t.ctx.db.read
      .selectFrom('taps')
      .select('counter')
      .where('outcome', '=', 'valid')
      .execute()
    expect(new Set(counters.map(({ counter }) => Number(counter) % 2))).toEqual(
      new Set([stored.haloForm === 'rnd' ? 0 : 1]),
    )
    expect(await isValid(stored.haloForm === 'rnd' ? chip.olderTap(50) : chip.tap(50))).toBe(false)
    expect(await isValid(stored.haloForm === 'rnd' ? chip.tap(51) : chip.olderTap(51))).toBe(true)
  })
})

test('a chip that was tapped before its form was recorded had the newer one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-halo-'))
  const [tapped, untapped] = [haloChip('tapped'), haloChip('untapped')]
  const upgrade = versionBefore('0026-chip-templates')
  const earlier = await openTestStore(dataDir).finally(upgrade)
  const at = '2026-01-01T00:00:00.000Z'
  await earlier.write(async (trx) => {
    await trx.insertInto('teams').values({ name: 'Acme', createdAt: at }).execute()
    const { id: teamId } = await trx.selectFrom('teams').select('id').executeTakeFirstOrThrow()
    await trx.insertInto('chipGroups').values({ teamId, name: 'HaLo', createdAt: at }).execute()
    const { id: chipGroupId } = await trx.selectFrom('chipGroups').select('id').executeTakeFirstOrThrow()
    for (const [uid, { pk2 }, lastTap] of [
      ['1', tapped, 7],
      ['2', untapped, null],
    ] as const)
      await trx
        .insertInto('chips')
        .values({
          ...{ uid, teamId, chipGroupId, lastTap, createdAt: at, family: 'halo', publicKey: pk2 },
          ...{
            keySetId: null,
            fileReadKey: null,
            generation: 0,
            lastCounter: -1,
            lastTapAt: null,
            label: null,
          },
          ...{ redirectUrl: null, itemId: null, variantId: null, tokenRow: null, simulated: 0 },
          ...{ disabledAt: null, disabledReason: null, replacedBy: null },
        })
        .execute()
  })
  await earlier.close()

  const t = await openTestApp({ dataDir, env: { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) } })
  const isValid = async (tap: Record<string, string>) =>
    (await t.app.inject({ url: tapPath(tap, '/chips/find') })).json().isValidTap
  expect([await isValid(tapped.olderTap(9)), await isValid(tapped.tap(8))]).toEqual([false, true])
  expect([await isValid(untapped.olderTap(9)), await isValid(untapped.tap(10))]).toEqual([true, false])
  await t.close()
  rmSync(dataDir, { recursive: true })
  await dropDatabaseOf(dataDir)
})
