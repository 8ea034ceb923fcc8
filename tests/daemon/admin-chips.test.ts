import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { testClock } from '../support/daemon.ts'
import { haloChip } from '../support/halo.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const clock = testClock()
const now = '2026-06-01T12:00:00.000Z'

let t: AdminApp
let jackets: string
beforeEach(async () => {
  t = await openAdminApp({ seed, clock })
  jackets = (await t.call('GET /admin/contracts?team=Acme')).body[0].address
})
afterEach(() => t.close())

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const chip = async (uid: string) => (await t.call(`GET /admin/chips/${uid}`)).body
const counters = new Map<string, number>()
const next = (uid: string): number => {
  const counter = (counters.get(uid) ?? 0) + 1
  counters.set(uid, counter)
  return counter
}
const find = async (uid: string, counter = next(uid)) =>
  (await t.app.inject({ url: tapPath(tap(derived, { uid }, counter), '/chips/find') })).json()
const otp = async (code: string) => (await t.app.inject({ url: `/otps/${code}` })).json()
/** Taps a chip whose URL redirects, for its ref. */
async function refOf(uid: string): Promise<string> {
  const answer = await t.app.inject({ url: tapPath(tap(derived, { uid }, next(uid))) })
  return new URL(String(answer.headers.location)).searchParams.get('svcRef') ?? ''
}
const ref = async (id: string) => (await t.app.inject({ url: `/refs/${id}` })).json()

const seedChip = (uid: string, more: object = {}) => ({ uid, keySet: 101, ...more })

describe('showing a chip', () => {
  test('tells its key set, token, item, last tap and where it belongs', async () => {
    counters.clear()
    await find(uids.jacket, 41)
    expect(await chip(uids.jacket)).toEqual({
      uid: decimal(uids.jacket),
      uidHex: uids.jacket,
      team: 'Acme',
      chipGroup: { id: 1, name: 'Jackets' },
      family: 'ntag424',
      keySet: 101,
      generation: 0,
      publicKey: null,
      publicPage: null,
      label: null,
      redirectUrl: 'https://acme.example/jacket?x=a%20b',
      isConfigured: true,
      isSimulated: false,
      lastCounter: 41,
      lastTapAt: now,
      tamper: null,
      openedAt: null,
      item: { id: 'jacket', name: 'Jacket', variant: 's' },
      linkedToken: {
        contractAddress: jackets,
        chainId: 31337,
        tokenId: '1',
        ownerAddress: null,
        ownerNote: 'chain 31337 is not configured here',
      },
      badgeEvents: [],
      guestbookEvents: [],
      disabledAt: null,
      disabledReason: null,
      replacedBy: null,
      createdAt: now,
    })
  })

  test('tells all its events, with where the badge events stand', async () => {
    expect(await chip(uids.events)).toMatchObject({
      isConfigured: true,
      badgeEvents: [
        { name: 'Launch', status: 'active' },
        { name: 'Long over', status: 'expired' },
      ],
      guestbookEvents: [{ name: 'Opening' }],
    })
    expect(await chip(uids.blank)).toMatchObject({
      isConfigured: false,
      badgeEvents: [],
      linkedToken: null,
      item: null,
    })
  })

  test('takes a UID in every form', async () => {
    for (const form of [decimal(uids.blank), uids.blank.toLowerCase(), '04:C7:67:F2:06:61:80']) {
      expect((await chip(form)).uid).toBe(decimal(uids.blank))
    }
  })

  test('reads fourteen digits as decimal where no chip has them in hex', async () => {
    await t.close()
    const hex = '0009184E72A001'
    const halo = { family: 'halo', publicKey: haloChip('fourteen').pk2, uid: hex }
    t = await openAdminApp({
      seed: { version: 1, teams: [{ name: 'T', chipGroups: [{ name: 'G', chips: [halo] }] }] },
    })
    expect(decimal(hex)).toBe('10000000000001')
    expect((await chip('10000000000001')).uid).toBe('10000000000001')
    expect((await t.call('POST /admin/chips/10000000000001/disable', {})).body.disabledAt).not.toBeNull()
    expect((await t.call('DELETE /admin/chips/10000000000001')).status).toBe(200)
  })

  test('which is not there is a 404, and a UID that is none a 400', async () => {
    expect(await t.call('GET /admin/chips/04000000000001')).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
    expect(await t.call('GET /admin/chips/nonsense')).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('uid') },
    })
  })
})

describe('linking', () => {
  test('a chip to a token and an item, and taking both off again', async () => {
    const linked = await t.call(`POST /admin/chips/${uids.blank}/link`, {
      token: { contractAddress: jackets.toLowerCase(), chainId: 31337, tokenId: 7 },
      item: 'jacket',
      variant: 's',
    })
    expect(linked.body).toMatchObject({
      linkedToken: { contractAddress: jackets, chainId: 31337, tokenId: '7', ownerAddress: null },
      item: { id: 'jacket', variant: 's' },
      isConfigured: true,
    })
    expect(
      (await t.call(`POST /admin/chips/${uids.blank}/link`, { item: 'jacket' })).body.item.variant,
    ).toBeNull()
    expect((await t.call(`POST /admin/chips/${uids.blank}/unlink`, { item: true })).body).toMatchObject({
      item: null,
      linkedToken: { tokenId: '7' },
    })
    expect((await t.call(`POST /admin/chips/${uids.blank}/unlink`)).body).toMatchObject({
      item: null,
      linkedToken: null,
    })
    expect(await t.audit(`action=chips.link`)).toHaveLength(2)
    expect(await t.audit(`action=chips.unlink`)).toMatchObject([
      { actor: 'admin:root', team: 'Acme', target: decimal(uids.blank), detail: { token: { tokenId: '7' } } },
      { detail: { item: 'jacket' } },
    ])
  })

  test('several chips to one token', async () => {
    const token = { contractAddress: jackets, chainId: 31337, tokenId: '1' }
    expect((await t.call(`POST /admin/chips/${uids.blank}/link`, { token })).body.linkedToken.tokenId).toBe(
      '1',
    )
    expect((await chip(uids.jacket)).linkedToken.tokenId).toBe('1')
  })

  test('ends the codes that were for the old token, and no others', async () => {
    counters.clear()
    const { otp: claim } = await find(uids.twin)
    const { otp: badge } = await find(uids.events)
    const token = { contractAddress: jackets, chainId: 31337, tokenId: '8' }
    await t.call(`POST /admin/chips/${uids.twin}/link`, { token })
    await t.call(`POST /admin/chips/${uids.events}/link`, { token })
    expect((await otp(claim.code)).isExpired).toBe(true)
    expect((await otp(badge.code)).isExpired).toBe(false)
    const { otp: later } = await find(uids.twin)
    expect((await otp(later.code)).linkedToken.tokenId).toBe('8')
    await t.call(`POST /admin/chips/${uids.twin}/unlink`, { token: true })
    expect((await otp(later.code)).isExpired).toBe(true)
  })

  test('to what it has already changes nothing: codes stay good and nothing is recorded', async () => {
    counters.clear()
    const { otp: claim } = await find(uids.twin)
    const token = { contractAddress: jackets, chainId: 31337, tokenId: '1' }
    expect((await t.call(`POST /admin/chips/${uids.twin}/link`, { token })).status).toBe(200)
    expect((await t.call(`POST /admin/chips/${uids.twin}/unlink`, { item: true })).status).toBe(200)
    expect((await otp(claim.code)).isExpired).toBe(false)
    expect(await t.audit('action=chips.link')).toEqual([])
    expect(await t.audit('action=chips.unlink')).toEqual([])
  })

  const other = { contractAddress: `0x${'1'.repeat(40)}`, chainId: 31337, tokenId: '1' }
  const refused: [string, object, number, string][] = [
    ['nothing', {}, 400, 'token, item'],
    ['a variant without its item', { variant: 's' }, 400, 'item'],
    ['an unknown item', { item: 'coat' }, 404, 'coat'],
    ["another team's item", { item: 'other-item' }, 404, 'other-item'],
    ['an unknown variant', { item: 'jacket', variant: 'xl' }, 404, 'xl'],
    ['an unknown contract', { token: other }, 404, `0x${'1'.repeat(40)}`],
    [
      'a token without its chain',
      { token: { contractAddress: other.contractAddress, tokenId: '1' } },
      400,
      'token.chainId',
    ],
  ]
  test('to what is not there, or not complete, is refused', async () => {
    const before = await chip(uids.blank)
    for (const [what, body, status, message] of refused) {
      const answer = await t.call(`POST /admin/chips/${uids.blank}/link`, body)
      expect(answer, what).toMatchObject({ status, body: { message: expect.stringContaining(message) } })
      expect(await chip(uids.blank), what).toEqual(before)
    }
  })

  test("another team's chip to this team's contract, or to a guestbook, is refused", async () => {
    const token = { contractAddress: jackets, chainId: 31337, tokenId: '1' }
    expect((await t.call('POST /admin/chips/04827F12647380/link', { token })).status).toBe(404)
    // Its address is not shown while it is not deployed.
    const contracts = t.ctx.db.read.selectFrom('contracts').select('address').where('kind', '=', 'guestbook')
    const guestbook = await contracts.executeTakeFirstOrThrow()
    expect(
      await t.call(`POST /admin/chips/${uids.blank}/link`, {
        token: { ...token, contractAddress: guestbook.address },
      }),
    ).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('guestbook') },
    })
  })
})

describe('disabling', () => {
  test('makes taps, refs and codes worth nothing, and enabling brings none of them back', async () => {
    counters.clear()
    const { otp: code } = await find(uids.twin)
    const id = await refOf(uids.jacket)
    const before = tap(derived, { uid: uids.jacket }, 90)
    for (const uid of [uids.twin, uids.jacket]) {
      const answer = await t.call(`POST /admin/chips/${uid}/disable`, { reason: 'stolen' })
      expect(answer.body).toMatchObject({ disabledAt: now, disabledReason: 'stolen' })
    }
    expect((await otp(code.code)).isExpired).toBe(true)
    expect((await ref(id)).isValidRef).toBe(false)
    expect((await find(uids.twin)).isValidTap).toBe(false)
    const taken = await t.app.inject({ url: tapPath(before, '/chips/find') })
    expect(taken.json().isValidTap).toBe(false)

    for (const uid of [uids.twin, uids.jacket]) {
      const { body } = await t.call(`POST /admin/chips/${uid}/enable`)
      expect(body).toMatchObject({ disabledAt: null, disabledReason: null })
    }
    expect((await otp(code.code)).isExpired).toBe(true)
    expect((await ref(id)).isValidRef).toBe(false)
    expect((await t.app.inject({ url: tapPath(before, '/chips/find') })).json().isValidTap).toBe(false)
    expect((await find(uids.jacket, 91)).isValidTap).toBe(true)
  })

  test('twice is once, and enabling what is enabled is nothing', async () => {
    await t.call(`POST /admin/chips/${uids.blank}/disable`, { reason: 'lost' })
    expect((await t.call(`POST /admin/chips/${uids.blank}/disable`)).body.disabledReason).toBe('lost')
    await t.call(`POST /admin/chips/${uids.blank}/enable`)
    await t.call(`POST /admin/chips/${uids.blank}/enable`)
    const target = decimal(uids.blank)
    expect(await t.audit('action=chips.disable')).toMatchObject([{ target, detail: { reason: 'lost' } }])
    expect(await t.audit('action=chips.enable')).toMatchObject([{ target, detail: { reason: 'lost' } }])
    expect((await t.call('POST /admin/chips/04000000000001/disable')).status).toBe(404)
    expect((await t.call('POST /admin/chips/04000000000001/enable')).status).toBe(404)
  })
})

describe('replacing', () => {
  test('moves all that a chip carries, and the old one is worth nothing any more', async () => {
    counters.clear()
    const carried = await chip(uids.jacket)
    const id = await refOf(uids.jacket)
    const replace = () => t.call(`POST /admin/chips/${uids.jacket}/replace`, { with: uids.blank })
    const answers = await Promise.all(Array.from({ length: 10 }, replace))
    const [answer, ...others] = answers.sort((a, b) => a.body.status.localeCompare(b.body.status))
    expect(others.map(({ body }) => body.status)).toEqual(Array(9).fill('unchanged'))
    expect(answer?.body).toMatchObject({
      status: 'replaced',
      uid: decimal(uids.jacket),
      linkedToken: null,
      item: null,
      redirectUrl: null,
      isConfigured: false,
      disabledAt: now,
      disabledReason: 'replaced',
      replacedBy: decimal(uids.blank),
    })
    const { item, linkedToken, redirectUrl } = carried
    expect(await chip(uids.blank)).toMatchObject({
      item,
      linkedToken,
      redirectUrl,
      isConfigured: true,
      disabledAt: null,
    })
    expect((await ref(id)).isValidRef).toBe(false)
    expect((await find(uids.jacket)).isValidTap).toBe(false)
    expect(await find(uids.blank)).toMatchObject({ isValidTap: true, linkedToken: { tokenId: '1' } })
    expect(await t.audit('action=chips.replace')).toMatchObject([
      { target: decimal(uids.jacket), detail: { with: decimal(uids.blank) } },
    ])
    expect(await t.call(`POST /admin/chips/${uids.jacket}/enable`)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining(decimal(uids.blank)) },
    })
    expect((await t.call(`POST /admin/chips/${uids.jacket}/link`, { item: 'jacket' })).status).toBe(409)
  })

  test('moves events, the label and the chip group as well', async () => {
    const { badgeEvents, guestbookEvents } = await chip(uids.events)
    await t.ctx.db.write((trx) =>
      trx.updateTable('chips').set({ label: 'No. 1' }).where('uid', '=', decimal(uids.events)).execute(),
    )
    await t.call(`POST /admin/chips/${uids.events}/replace`, { with: uids.plain })
    expect(await chip(uids.plain)).toMatchObject({
      badgeEvents,
      guestbookEvents,
      label: 'No. 1',
      chipGroup: { name: 'Jackets' },
      keySet: 102,
    })
    expect(await chip(uids.events)).toMatchObject({ badgeEvents: [], guestbookEvents: [], label: null })
  })

  test('is refused with a chip that is not free, and says why', async () => {
    const replace = (with_: string) => t.call(`POST /admin/chips/${uids.jacket}/replace`, { with: with_ })
    const before = await chip(uids.jacket)
    await t.call(`POST /admin/chips/${uids.plain}/disable`)
    const refused: [string, number, string][] = [
      [uids.jacket, 409, 'itself'],
      [uids.twin, 409, 'a token'],
      [uids.unminted, 409, 'an item'],
      [uids.events, 409, 'assigned events'],
      [uids.plain, 409, 'disabled'],
      ['04827F12647380', 409, 'Other'],
      ['04000000000001', 404, decimal('04000000000001')],
      ['nonsense', 400, 'with'],
    ]
    for (const [uid, status, message] of refused) {
      expect(await replace(uid)).toMatchObject({
        status,
        body: { message: expect.stringContaining(message) },
      })
    }
    expect(await chip(uids.jacket)).toEqual(before)
    await replace(uids.blank)
    expect(await replace(uids.listed)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('already') },
    })
  })
})

describe('removing', () => {
  test('takes the chip and its assignments, ends its codes, and leaves its taps on record', async () => {
    counters.clear()
    const { otp: code } = await find(uids.events)
    expect((await t.call(`DELETE /admin/chips/${uids.events}`)).body).toEqual({ success: true })
    expect((await t.call(`GET /admin/chips/${uids.events}`)).status).toBe(404)
    expect((await t.call(`DELETE /admin/chips/${uids.events}`)).status).toBe(404)
    expect((await otp(code.code)).isExpired).toBe(true)
    expect((await t.call(`GET /admin/taps?uid=${uids.events}`)).body).toMatchObject([
      { outcome: 'valid', counter: 1 },
    ])
    expect(await t.audit('action=chips.remove')).toMatchObject([
      {
        target: decimal(uids.events),
        team: 'Acme',
        detail: { chipGroup: 'Jackets', keySet: 101, lastCounter: 1 },
      },
    ])
  })

  const register = (csv: string, query = 'keySet=101') =>
    t.app.inject({
      method: 'POST',
      url: `/admin/chips/import?team=Acme&chipGroup=Jackets&${query}`,
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: csv,
    })

  test('and registering again does not bring old taps back to life', async () => {
    counters.clear()
    const old = tap(derived, { uid: uids.blank }, 50)
    await t.app.inject({ url: tapPath(old, '/chips/find') })
    await t.call(`DELETE /admin/chips/${uids.blank}`)
    expect((await register(`uid\n${uids.blank}\n`)).json().status).toBe('created')
    expect((await chip(uids.blank)).lastCounter).toBe(50)
    expect((await t.app.inject({ url: tapPath(old, '/chips/find') })).json().isValidTap).toBe(false)
    expect((await find(uids.blank, 50)).isValidTap).toBe(false)
    expect((await find(uids.blank, 51)).isValidTap).toBe(true)

    // Nor with a lower counter given, nor the second time.
    await t.call(`DELETE /admin/chips/${uids.blank}`)
    await register(`uid,lastCounter\n${uids.blank},3\n`)
    expect((await chip(uids.blank)).lastCounter).toBe(51)
  })

  test('and registering again under another key set begins anew, until it comes back to the first', async () => {
    await find(uids.blank, 50)
    await t.call(`DELETE /admin/chips/${uids.blank}`)
    await register(`uid\n${uids.blank}\n`, 'keySet=102')
    expect((await chip(uids.blank)).lastCounter).toBeNull()
    await t.call(`DELETE /admin/chips/${uids.blank}`)
    await register(`uid\n${uids.blank}\n`)
    expect((await chip(uids.blank)).lastCounter).toBe(50)
  })

  test('goes for a HaLo chip that comes back under another UID as well', async () => {
    const halo = haloChip('back')
    const first = (await register(`publicKey\n${halo.pk2}\n`)).json()
    const old = halo.tap(9)
    expect((await t.app.inject({ url: tapPath(old, '/chips/find') })).json().isValidTap).toBe(true)
    await t.call(`DELETE /admin/chips/${first.uid}`)
    await register(`uid,publicKey\n04AAAAAAAAAA01,${halo.pk2}\n`)
    expect((await t.app.inject({ url: tapPath(old, '/chips/find') })).json()).toMatchObject({
      uid: decimal('04AAAAAAAAAA01'),
      isValidTap: false,
    })
  })

  test('keeps what the chip was personalised to', async () => {
    await t.close()
    const chips = [seedChip(uids.blank, { generation: 2 })]
    t = await openAdminApp({
      seed: {
        version: 1,
        keySets: [derived],
        teams: [{ name: 'Acme', chipGroups: [{ name: 'Jackets', chips }] }],
      },
    })
    const show = (counter: number) =>
      t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank, generation: 2 }, counter), '/chips/find') })
    expect((await show(5)).json().isValidTap).toBe(true)
    await t.call(`DELETE /admin/chips/${uids.blank}`)
    await register(`uid\n${uids.blank}\n`)
    expect(await chip(uids.blank)).toMatchObject({ generation: 2, lastCounter: 5 })
    expect((await show(5)).json().isValidTap).toBe(false)
    expect((await show(6)).json().isValidTap).toBe(true)
  })
})

test('every one of these needs an admin token of the right scope', async () => {
  const reader = (await t.call('POST /admin/admin-tokens', { name: 'reader', scopes: ['read'] })).body.token
  const headers = { authorization: `Bearer ${reader}` }
  expect((await t.call(`GET /admin/chips/${uids.blank}`, undefined, headers)).status).toBe(200)
  for (const change of ['link', 'unlink', 'replace', 'disable', 'enable', 'simulate']) {
    const path = `POST /admin/chips/${uids.blank}/${change}`
    expect((await t.call(path, {}, headers)).status).toBe(403)
    expect((await t.call(path, {}, {})).status).toBe(401)
  }
  expect((await t.call(`DELETE /admin/chips/${uids.blank}`, undefined, headers)).status).toBe(403)
  expect((await t.call('POST /admin/chips/import?chipGroup=G', undefined, headers)).status).toBe(403)
})
