import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Changes } from '../../src/daemon/process/changes.ts'
import type { Queries } from '../../src/daemon/store/database/database.ts'
import { bearer } from '../support/admin.ts'
import { adminToken } from '../support/daemon.ts'
import { type Call, type Fleet, startFleet, untilItHolds } from '../support/fleet.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let fleet: Fleet
let here: Call
let there: Call
beforeAll(async () => {
  fleet = await startFleet({ seed, env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' } })
  ;[here, there] = fleet.daemons.map(({ call }) => call) as [Call, Call]
}, 60_000)
afterAll(() => fleet?.stop())

const withKey = (key: string) => ({ 'x-svc-api-key': key })
/** As the documents promise. */
const everywhereMs = 1000

/** @returns when the other daemon knew, in milliseconds since it was answered here */
const knownThere = async (check: () => Promise<unknown>) =>
  expect(await untilItHolds(check)).toBeLessThan(everywhereMs)

describe('what one daemon changes counts at the other within a second', () => {
  test('keys and tokens, from their creation on and after they are revoked', async () => {
    const { id, key } = (await here('POST /admin/api-keys', { team: 'Acme', name: 'kiosk' })).body
    const asked = () => there('GET /chip-groups', undefined, withKey(key))
    await knownThere(async () => expect((await asked()).status).toBe(200))
    await here(`DELETE /admin/api-keys/${id}`)
    await knownThere(async () => expect((await asked()).body.code).toBe('api_key_revoked'))

    const made = (await there('POST /admin/admin-tokens', { name: 'desk', scopes: ['read'] })).body
    const listed = () => here('GET /admin/teams', undefined, bearer(made.token))
    await knownThere(async () => expect((await listed()).status).toBe(200))
    await there(`DELETE /admin/admin-tokens/${made.id}`)
    await knownThere(async () => expect((await listed()).body.code).toBe('admin_token_revoked'))
  })

  test('a secret that was rolled, and its end: by the next roll, and with the new one when it is revoked', async () => {
    const { id, key } = (await here('POST /admin/api-keys', { team: 'Acme', name: 'ci', scopes: ['read'] }))
      .body
    const asWith = (secret: string) => there('GET /admin/teams', undefined, withKey(secret))
    const rolled = (await here(`POST /admin/api-keys/${id}/roll`, {})).body
    await knownThere(async () => expect((await asWith(rolled.key)).status).toBe(200))
    expect((await asWith(key)).status).toBe(200)
    await there(`DELETE /admin/api-keys/${id}`)
    for (const secret of [key, rolled.key])
      await knownThere(async () =>
        expect((await here('GET /admin/teams', undefined, withKey(secret))).body.code).toBe(
          'api_key_revoked',
        ),
      )
  })

  test('ten rolls at once, at both daemons, are one', async () => {
    const body = { name: 'robot', team: 'Acme', scopes: ['read'] }
    const { id } = (await here('POST /admin/admin-tokens', body)).body
    await knownThere(async () => expect((await there('GET /admin/admin-tokens')).body.at(-1).id).toBe(id))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? here : there)(`POST /admin/admin-tokens/${id}/roll`, {})),
    )
    const told = answers.filter(({ status }) => status === 200)
    expect([told.length, answers.filter(({ status }) => status === 409).length]).toEqual([1, 9])
    await knownThere(async () =>
      expect((await there('GET /admin/teams', undefined, bearer(told[0]?.body.key))).status).toBe(200),
    )
  })

  test('key sets: a tap of a chip with a new one is valid there, and of none once it is gone', async () => {
    const set = { ...derived, id: 301, metaReadKey: 'ab'.repeat(16), fileReadKey: 'cd'.repeat(16) }
    expect((await here('POST /admin/key-sets', set)).body).toMatchObject({ id: 301 })
    const chip = { uid: '04DE5F1EACC0F1' }
    const imported = await fetch(
      `${fleet.daemons[0]?.url}/admin/chips/import?team=Acme&chipGroup=New&keySet=301`,
      {
        method: 'POST',
        headers: { ...bearer(adminToken), 'content-type': 'text/csv' },
        body: `uid\n${chip.uid}\n`,
      },
    )
    expect(await imported.text()).toContain('"created"')
    let counter = 0
    await knownThere(async () => {
      counter += 1
      const found = await there(`GET ${tapPath(tap(set, chip, counter), '/chips/find')}`, undefined, {})
      expect(found.body).toMatchObject({ isValidTap: true })
    })
    await here(`DELETE /admin/chips/${chip.uid}`)
    await here('DELETE /admin/key-sets/301')
    await knownThere(async () => expect(fleet.daemons[1]?.ctx.keyRing.get(301)).toBeUndefined())
  })

  test('key sets: one that was removed here is refused by an import there that does not know it yet', async () => {
    const set = { ...derived, id: 302, metaReadKey: 'ba'.repeat(16), fileReadKey: 'dc'.repeat(16) }
    await here('POST /admin/key-sets', set)
    const { keyRing } = fleet.daemons[1]?.ctx ?? {}
    if (!keyRing) throw new Error('no second daemon')
    await knownThere(async () => expect(keyRing.get(302)).toBeDefined())
    const { load } = keyRing
    keyRing.load = async () => undefined
    try {
      expect((await here('DELETE /admin/key-sets/302')).status).toBeLessThan(300)
      const imported = await fetch(
        `${fleet.daemons[1]?.url}/admin/chips/import?team=Acme&chipGroup=Late&keySet=302`,
        {
          method: 'POST',
          headers: { ...bearer(adminToken), 'content-type': 'text/csv' },
          body: 'uid\n04DE5F1EACC0F2\n',
        },
      )
      expect(imported.status).toBe(200)
      expect(await imported.text()).toContain('its key set was removed in the meantime')
    } finally {
      keyRing.load = load
    }
  })

  test('webhooks: what is recorded there goes to those that were made here', async () => {
    const wants = () => fleet.daemons[1]?.ctx.webhookEvents.hasSubscriber(1, 'tap.valid')
    const { id } = (await here('POST /admin/webhooks', { team: 'Acme', url: 'http://127.0.0.1:9/' })).body
    await knownThere(async () => expect(wants()).toBe(true))
    await here(`PATCH /admin/webhooks/${id}`, { disabled: true })
    await knownThere(async () => expect(wants()).toBe(false))
    await here(`PATCH /admin/webhooks/${id}`, { disabled: false })
    await knownThere(async () => expect(wants()).toBe(true))
    await here(`DELETE /admin/webhooks/${id}`)
    await knownThere(async () => expect(wants()).toBe(false))
  })
})

test('what a chip, an item, a contract or a team is counts at the other daemon at once', async () => {
  let counter = 0
  const tapped = async () => {
    counter += 1
    const path = tapPath(tap(derived, { uid: uids.blank }, counter), '/chips/find')
    return there(`GET ${path}`, undefined, withKey(acmeKey))
  }
  expect((await tapped()).body.isValidTap).toBe(true)
  expect((await here(`POST /admin/chips/${uids.blank}/disable`, { reason: 'stolen' })).status).toBe(200)
  expect((await tapped()).body.isValidTap).not.toBe(true)
  expect((await here(`POST /admin/chips/${uids.blank}/enable`)).status).toBe(200)
  expect((await tapped()).body.isValidTap).toBe(true)

  const contract = {
    team: 'Acme',
    symbol: 'NEW',
    name: 'New',
    chainId: 31337,
    address: `0x${'5'.repeat(40)}`,
  }
  const made = await here('POST /admin/contracts', contract)
  expect(made.status).toBe(200)
  const contracts = (await there('GET /admin/contracts?team=Acme')).body
  expect(contracts.map(({ symbol }: { symbol: string }) => symbol)).toContain('NEW')

  const { id } = (await here('POST /admin/teams', { name: 'Short-lived' })).body
  await there(`PATCH /admin/teams/${id}`, { brand: { name: 'Shorty' } })
  const teams = async () => (await here('GET /admin/teams')).body.map((team: { id: number }) => team.id)
  expect((await here('GET /admin/teams')).body.at(-1)).toMatchObject({ id, brand: { name: 'Shorty' } })
  expect((await there(`DELETE /admin/teams/${id}`)).status).toBe(200)
  expect(await teams()).not.toContain(id)
})

test('the last use of a key at one daemon is listed by the other within five seconds', async () => {
  const { id, key } = (await here('POST /admin/api-keys', { team: 'Acme', name: 'till', scopes: ['read'] }))
    .body
  expect((await here('GET /chip-groups', undefined, withKey(key))).status).toBe(200)
  const listed = async (): Promise<{ id: number; lastUsedAt: string | null }[]> =>
    (await there('GET /admin/api-keys?team=Acme')).body
  const waited = await untilItHolds(async () =>
    expect((await listed()).find((one) => one.id === id)).toMatchObject({
      lastUsedAt: expect.any(String),
      lastUsedFrom: expect.stringContaining('127.0.0.1, '),
    }),
  )
  expect(waited).toBeLessThan(5000)
})

test('a daemon that cannot ask what was revoked trusts no key after ten seconds, until it can', async () => {
  const { ctx } = fleet.daemons[0] as Fleet['daemons'][number]
  if (!ctx.db.changeFeed) throw new Error('no change feed')
  let now = 0
  let isAway = false
  let failures = 0
  const { changeFeed: real } = ctx.db
  const selectFrom = ((table: 'changes') => {
    if (isAway) throw new Error('away')
    return real.selectFrom(table)
  }) as Queries['selectFrom']
  const changeFeed = { selectFrom } as Queries
  const load = { credentials: async () => 1, keySets: async () => 1, webhooks: async () => 1 }
  const changes = new Changes({ changeFeed, load, failed: () => (failures += 1), now: () => now })
  expect(changes.isCurrent(), 'before it looks for the first time').toBe(true)
  await changes.poll()
  isAway = true
  now = 9_999
  await expect(changes.poll()).rejects.toThrow('away')
  expect(changes.isCurrent()).toBe(true)
  now = 10_001
  expect(changes.isCurrent()).toBe(false)
  ctx.credentials.cachedWhileFresh(() => changes.isCurrent())
  const asked = () => here('GET /chip-groups', undefined, withKey(acmeKey))
  expect(await asked()).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
  // The root token is not the database's.
  expect((await here('GET /admin/teams')).status).toBe(200)
  isAway = false
  await changes.poll()
  expect((await asked()).status).toBe(200)
  expect(failures).toBe(0)
})
