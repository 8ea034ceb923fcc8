import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Attacked, openAttacked } from '../support/attacked-daemon.ts'
import { type HaloChip, haloChip } from '../support/halo.ts'
import { carol, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey, alice, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Somebody whose token or key may edit, and who wants tokens.

const [acme, other] = phygitalSeed.teams
const guestbook = {
  symbol: 'GB',
  name: 'Guests',
  chainId: 31337,
  events: [{ name: 'Opening', tokenId: '1' }],
}
const seed = { ...phygitalSeed, teams: [{ ...acme, guestbookContracts: [guestbook] }, other] }

let t: Attacked
let jackets: string
let editor: { authorization: string }
beforeAll(async () => {
  t = await openAttacked({ seed, env: { TAPCHIP_RATE_LIMIT: 'off' } })
  const { body } = await t.ask('/admin/contracts?team=Acme', { headers: t.admin })
  jackets =
    (body as { symbol: string; address: string }[]).find(({ symbol }) => symbol === 'JKT')?.address ?? ''
  editor = { authorization: `Bearer ${await adminToken(['read', 'edit'])}` }
})
afterAll(() => t?.close())

const adminToken = async (scopes: string[]): Promise<string> => {
  const made = await t.ask('/admin/admin-tokens', { headers: t.admin, body: { name: scopes.join(), scopes } })
  return made.body.token
}
const apiKey = async (scopes: string[]): Promise<Record<string, string>> => {
  const body = { team: 'Acme', name: scopes.join(), scopes }
  const made = await t.ask('/admin/api-keys', { headers: t.admin, body })
  return { 'x-svc-api-key': made.body.key }
}
const token = (n: number) => ({ contractAddress: jackets, chainId: 31337, tokenId: String(n) })
const ownerOf = async (n: number): Promise<string | null> => {
  const shown = await t.ask(`/admin/chips/${chips.jacket(n)}`, { headers: t.admin })
  return shown.body.linkedToken?.ownerAddress ?? null
}
const transactions = async (): Promise<number> =>
  (await t.ask('/admin/transactions?limit=1000', { headers: t.admin })).body.length

const importRows = (headers: Record<string, string>, query: string, rows: object[]) =>
  t.ask(`/admin/chips/import?team=Acme&chipGroup=Mine${query}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
    body: rows.map((row) => JSON.stringify(row)).join('\n'),
  })
const post = (path: string, body: object, headers: Record<string, string> = editor) =>
  t.ask(path, { method: 'POST', headers, body })

/** Taps a HaLo chip of one's own, and has what its codes are for. */
const useHalo = async (chip: HaloChip) => {
  const { pk1, pk2, rnd, rndsig } = chip.tap()
  const found = await t.ask(`/chips/find?${new URLSearchParams({ pk1, pk2, rnd, rndsig })}`)
  return take(found.body?.otp?.code)
}
/** Taps a simulated chip by the URLs that the daemon makes for it. */
const useSimulated = async (uid: string) => {
  const made = await post(`/admin/chips/${uid}/simulate`, { count: 1 })
  const url: string | undefined = made.body?.[0]?.url
  if (url === undefined) return made.status
  const found = await t.ask(`/chips/find${new URL(url).search}`)
  return take(found.body?.otp?.code)
}
const take = async (code: string | undefined) => {
  if (code === undefined) return 'no code'
  const headers = { 'x-svc-code': code }
  const taken = await t.ask('/phygitals/transfer/pullable', { headers, body: { recipient: carol } })
  return taken.status === 200 ? 'TAKEN' : taken.status
}

const mine = (n: number) => `04C0${n.toString(16).padStart(8, '0').toUpperCase()}80`

/** Each way that one could think of, with the token that it is after; it says how far it came. */
const ways: Record<string, (n: number) => Promise<unknown>> = {
  'imports a simulated chip with the token': async (n) => {
    await importRows(editor, '&keySet=101&simulated=true', [{ uid: mine(n), ...token(n) }])
    return useSimulated(mine(n))
  },
  'imports a HaLo chip with a key of their own and the token': async (n) => {
    const chip = haloChip(`way-${n}`)
    await importRows(editor, '', [{ publicKey: chip.pk2, ...token(n) }])
    return useHalo(chip)
  },
  'links a simulated chip afterwards': async (n) => {
    await importRows(editor, '&keySet=101&simulated=true', [{ uid: mine(n) }])
    await post(`/admin/chips/${mine(n)}/link`, { token: token(n) })
    return useSimulated(mine(n))
  },
  'links a HaLo chip afterwards': async (n) => {
    const chip = haloChip(`way-${n}`)
    const { text } = await importRows(editor, '', [{ publicKey: chip.pk2 }])
    await post(`/admin/chips/${JSON.parse(text.split('\n')[0] ?? '{}').uid}/link`, { token: token(n) })
    return useHalo(chip)
  },
  'replaces the token’s chip by a HaLo chip of their own': async (n) => {
    const chip = haloChip(`way-${n}`)
    const { text } = await importRows(editor, '', [{ publicKey: chip.pk2 }])
    await post(`/admin/chips/${chips.jacket(n)}/replace`, {
      with: JSON.parse(text.split('\n')[0] ?? '{}').uid,
    })
    return useHalo(chip)
  },
  'replaces it by a simulated one': async (n) => {
    await importRows(editor, '&keySet=101&simulated=true', [{ uid: mine(n) }])
    await post(`/admin/chips/${chips.jacket(n)}/replace`, { with: mine(n) })
    return useSimulated(mine(n))
  },
  'has a simulated chip tap that somebody else linked': async (n) => {
    await importRows(t.admin, '&keySet=101&simulated=true', [{ uid: mine(n), ...token(n) }])
    return useSimulated(mine(n))
  },
  'removes the chip, and imports it again as a simulated one': async (n) => {
    await t.ask(`/admin/chips/${chips.jacket(n)}`, { method: 'DELETE', headers: editor })
    await importRows(editor, '&keySet=101&simulated=true', [{ uid: chips.jacket(n), ...token(n) }])
    return useSimulated(chips.jacket(n))
  },
  'makes a token or a key for themselves that may more': async (n) => {
    const made = await post('/admin/admin-tokens', { name: 'more', scopes: ['transfer'] })
    const key = await post('/admin/api-keys', { team: 'Acme', name: 'more', scopes: ['transfer'] })
    const headers = { 'x-svc-api-key': String(key.body?.key) }
    const moved = await t.ask('/phygitals/transfer', { headers, body: { ...token(n), recipient: carol } })
    return moved.status === 200 || made.status === 200 ? 'TAKEN' : moved.status
  },
}

describe('with the scopes read and edit, somebody who', () => {
  test.each(Object.entries(ways).map(([way, go], index) => ({ way, go, n: index + 1 })))(
    '$way gets no token',
    async ({ go, n }) => {
      expect(await go(n)).not.toBe('TAKEN')
      expect([alice, null]).toContain(await ownerOf(n))
    },
  )

  test('binds a HaLo chip of their own to an item mints none', async () => {
    const chip = haloChip('item')
    const { text } = await importRows(editor, '', [{ publicKey: chip.pk2 }])
    await post(`/admin/chips/${JSON.parse(text.split('\n')[0] ?? '{}').uid}/link`, { item: 'jacket' })
    expect(await useHalo(chip)).not.toBe('TAKEN')
  })
})

test('with transfer besides, binding works as ever', async () => {
  const both = { authorization: `Bearer ${await adminToken(['edit', 'transfer'])}` }
  const { text } = await importRows(both, '&keySet=101', [{ uid: mine(99), ...token(20) }])
  expect(text).toContain('"created"')
})

describe('the relayer’s money', () => {
  test('is not spent with the scope edit', async () => {
    const key = await apiKey(['edit'])
    const before = await transactions()
    const answers = [
      await post('/events/toggle-pause-state', { contractId: 3, pauseState: true }, key),
      await post('/events/contracts', { name: 'Mine', symbol: 'MINE', chainId: 31337 }, key),
      await post('/events/mint', { eventId: 1, recipient: carol }, key),
      await post('/phygitals/transfer', { ...token(15), recipient: carol }, key),
    ]
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    expect(await transactions()).toBe(before)
  })

  test('is spent once on pausing what is paused', async () => {
    const contracts = await t.ask('/events/contracts', { headers: { 'x-svc-api-key': acmeKey } })
    const contractId: number = contracts.body[0].id
    const key = await apiKey(['transfer'])
    const before = await transactions()
    for (let n = 0; n < 20; n += 1) {
      const paused = await post('/events/toggle-pause-state', { contractId, pauseState: true }, key)
      expect(paused.status).toBe(200)
    }
    expect((await transactions()) - before).toBe(1)
  })

  test('has a budget a team and day: the next transaction is refused for today, its code good', async () => {
    const found = await t.ask(tapPath(tap(derived, { uid: chips.jacket(16) }, 1), '/chips/find'))
    const headers = { 'x-svc-code': String(found.body.otp.code) }
    const take = () => t.ask('/phygitals/transfer/pullable', { headers, body: { recipient: carol } })
    expect((await t.cli('teams', 'edit', 'Acme', '--transactions-per-day', '1')).code).toBe(0)
    const refused = await take()
    expect([refused.status, Number(refused.headers['retry-after'])]).toEqual([429, expect.any(Number)])
    expect((await t.ask(`/otps/${found.body.otp.code}`)).body.isExpired).toBe(false)
    // Another team's is untouched by it, and what sends nothing goes on.
    expect((await t.ask('/chip-groups', { headers: { 'x-svc-api-key': acmeKey } })).status).toBe(200)
    expect((await t.cli('teams', 'edit', 'Acme', '--transactions-per-day', '1000')).code).toBe(0)
    expect((await take()).status).toBe(200)
  })
})
