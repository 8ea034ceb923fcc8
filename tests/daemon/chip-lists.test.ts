import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer } from '../support/admin.ts'
import { adminToken, openTestApp, type TestApp } from '../support/daemon.ts'
import { largeUid } from '../support/large-database.ts'
import { seed, uids } from '../support/seeds.ts'

let t: TestApp
const get = async (path: string) => (await t.app.inject({ url: path, headers: bearer(adminToken) })).json()
const stateOf = (stats: { states: { state: string; chips: number }[] }) =>
  Object.fromEntries(stats.states.map(({ state, chips }) => [state, chips]))

const added = 24_000
beforeAll(async () => {
  t = await openTestApp({ seed })
  await t.ctx.db.write(async (trx) => {
    const { chip, group } = await sample(trx)
    for (let from = 0; from < added; from += 400) {
      const copies = Array.from({ length: 400 }, (_, n) => ({
        ...chip,
        ...{ uid: largeUid(from + n), label: `Large ${String(from + n).padStart(5, '0')}` },
        ...{ itemId: null, tokenRow: null, redirectUrl: null, chipGroupId: group.id },
        disabledAt: from + n === added - 1 ? '2026-01-01T00:00:00.000Z' : null,
      }))
      await trx.insertInto('chips').values(copies).execute()
    }
    await trx.updateTable('chipGroups').set({ chips: added }).where('id', '=', group.id).execute()
  })
}, 60_000)
afterAll(() => t.close())

async function sample(trx: TestApp['ctx']['db']['read']) {
  const chip = await trx
    .selectFrom('chips')
    .selectAll()
    .where('publicKey', 'is', null)
    .where('metaReadKey', 'is', null)
    .executeTakeFirstOrThrow()
  const group = await trx
    .insertInto('chipGroups')
    .values({ teamId: chip.teamId, name: 'Many', createdAt: chip.createdAt })
    .returningAll()
    .executeTakeFirstOrThrow()
  return { chip, group }
}

/** Every page. */
async function all(query: string) {
  const found: { uid: string; label: string | null }[] = []
  let pages = 0
  for (let next: string | null = ''; next !== null; pages++) {
    const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`
    const page: { chips: typeof found; next: string | null } = await get(`/admin/chips?${query}${after}`)
    found.push(...page.chips)
    next = page.next
  }
  return { found, pages }
}

describe('a list of chips', () => {
  test('has each chip once, page by page', async () => {
    const { found } = await all('team=Acme&chipGroup=Many&limit=200')
    expect(new Set(found.map(({ uid }) => uid)).size).toBe(added)
    expect(found.length).toBe(added)
  })

  test('is searched by the beginning of a label, in the order of labels', async () => {
    const { chips, next } = await get('/admin/chips?team=Acme&label=Large%200001&limit=7')
    expect(chips.map(({ label }: { label: string }) => label)).toEqual(
      Array.from({ length: 7 }, (_, n) => `Large 0001${n}`),
    )
    const rest = await get(
      `/admin/chips?team=Acme&label=Large%200001&limit=7&after=${encodeURIComponent(next)}`,
    )
    expect(rest).toMatchObject({ chips: [{ label: 'Large 00017' }, {}, {}], next: null })
  })

  test('is searched by item and by token', async () => {
    const { found } = await all('team=Acme&item=jacket')
    expect(found.length).toBeGreaterThan(0)
    const chip = await get(`/admin/chips/${uids.jacket}`)
    const { contractAddress, chainId, tokenId } = chip.linkedToken
    const query = `contractAddress=${contractAddress}&chainId=${chainId}&tokenId=${tokenId}`
    const { chips } = await get(`/admin/chips?${query}`)
    expect(chips.map(({ uid }: { uid: string }) => uid)).toContain(chip.uid)
    expect(await get('/admin/chips?tokenId=1')).toMatchObject({ code: 'invalid_input' })
  })

  test('answers the chips of several UIDs, in any notation, of the teams that are seen', async () => {
    const { chips } = await get(`/admin/chips?uid=${uids.jacket}&uid=${largeUid(3)}&uid=04FFFFFFFFFFFF`)
    expect(chips).toHaveLength(2)
    expect(chips).toContainEqual(expect.objectContaining({ uidHex: uids.jacket }))
    expect(chips).toContainEqual(expect.objectContaining({ uid: largeUid(3) }))
    expect(await get(`/admin/chips?team=Other&uid=${uids.jacket}`)).toMatchObject({ chips: [] })
    expect(await get(`/admin/chips?uid=${uids.jacket}&label=L&team=Acme`)).toMatchObject({
      code: 'invalid_input',
    })
  })

  test('finds a rare chip among many with its first page', async () => {
    const { chips } = await get('/admin/chips?team=Acme&chipGroup=Many&state=disabled')
    expect(chips).toMatchObject([{ uid: largeUid(added - 1), disabledAt: '2026-01-01T00:00:00.000Z' }])
  })

  test('looks at a bounded number of chips for each page', async () => {
    const { found } = await all('team=Acme&chipGroup=Many&state=linked')
    expect(found).toEqual([])
    const { found: taps } = await all('team=Acme&chipGroup=Many&state=untapped&limit=200')
    expect(taps.length).toBe(added)
  })

  test('refuses a page that no answer named', async () => {
    expect(await get('/admin/chips?team=Acme&after=later')).toMatchObject({ code: 'invalid_input' })
  })
})

describe('counts of chips', () => {
  test('are exact once they are counted, by state and by group', async () => {
    const stats = await get('/admin/chips/stats?team=Acme&wait=true')
    const counts = stateOf(stats)
    expect(stats.isCounting).toBe(false)
    expect(counts).toMatchObject({ registered: stats.chips, disabled: 1 })
    expect(Number(counts.configured) + Number(counts.unconfigured)).toBe(stats.chips)
    expect(stats.groups[0]).toMatchObject({ chipGroup: 'Many', team: 'Acme', chips: added })
    expect(stats.groups[0].states).toMatchObject({ registered: added, disabled: 1, linked: 0 })
  })

  test('of very many are answered at once, and made in the background', async () => {
    let stats = await get('/admin/chips/stats?team=Acme')
    expect(stats.chips).toBeGreaterThan(added)
    while (stats.isCounting) stats = await get('/admin/chips/stats?team=Acme')
    const exact = await get('/admin/chips/stats?team=Acme&wait=true')
    expect(stats.states).toEqual(exact.states)
    expect(stats.countedAt).toEqual(expect.any(String))
  })

  test('hold for the chips of a group, and of conditions', async () => {
    expect(await get('/admin/chips/stats?team=Acme&chipGroup=Many&disabled=true')).toMatchObject({ chips: 1 })
    const linked = stateOf(await get('/admin/chips/stats?team=Acme&item=jacket'))
    expect(linked.registered).toBe((await all('team=Acme&item=jacket')).found.length)
    expect(await get('/admin/chips/stats?team=Acme&chipGroup=None')).toMatchObject({ code: 'not_found' })
  })
})
