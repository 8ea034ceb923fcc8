import { describe, expect, onTestFinished, test } from 'vitest'
import { eventForm, openBadgeApp, openEvent, wallet } from '../support/badges.ts'
import type { Options } from '../support/daemon.ts'
import { otherKey } from '../support/seeds.ts'

async function open(options: Options = {}) {
  const t = await openBadgeApp(options)
  onTestFinished(() => t.close())
  return t
}
const manual = { env: { TAPCHIP_BADGE_APPROVAL: 'manual' } }

describe('operators', () => {
  test('list events newest first, of one team or of all, page by page', async () => {
    const t = await open()
    await t.create({ name: 'One' })
    const { body: two } = await t.create({ name: 'Two' }, { key: otherKey })
    const all = (await t.call('GET /admin/badge-events')).body
    expect(all.map(({ name }: { name: string }) => name)).toEqual(['Two', 'One', 'Long over', 'Launch'])
    expect(all[0]).toEqual({
      id: two.id,
      team: 'Other',
      name: 'Two',
      provider: 'embedded',
      poapEventId: two.poapResponse.id,
      status: 'active',
      startDate: '2026-05-30',
      endDate: '2026-06-02',
      expiryDate: '2026-07-01',
      requestedCodes: 5,
      remainingCodesCount: 5,
      maxPerRecipient: 1,
      createdAt: '2026-06-01T12:00:00.000Z',
    })
    expect((await t.call('GET /admin/badge-events?team=Other')).body).toHaveLength(1)
    expect((await t.call(`GET /admin/badge-events?limit=1&before=${two.id}`)).body).toMatchObject([
      { name: 'One' },
    ])
    expect((await t.call('GET /admin/badge-events?team=Nobody')).status).toBe(404)
  })

  test('approve: the event gets its codes, once', async () => {
    const t = await open(manual)
    const event = await openEvent(t)
    const code = await event.code()
    const refused = await t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    expect(refused).toMatchObject({ status: 400, body: { code: 'badge_not_active' } })
    const approve = () => t.call(`POST /admin/badge-events/${event.id}/approve`)
    expect((await approve()).body).toEqual({ id: event.id, name: 'Opening night', status: 'active' })
    expect((await t.mint(code, { recipient: wallet(1), poapEventId: event.id })).status).toBe(200)
    await approve()
    await t.call(`POST /admin/badge-events/${event.id}/reject`)
    await approve()
    const [listed] = (await t.call('GET /admin/badge-events?limit=1')).body
    expect(listed.remainingCodesCount).toBe(4)
    const actions = (await t.audit('action=badge-events')).map(({ action }) => action)
    expect(actions.filter((action) => action === 'badge-events.approve')).toHaveLength(2)
  })

  test('reject: no badge is given, and those that were stay', async () => {
    const t = await open()
    const event = await openEvent(t)
    await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })
    const code = await event.code()
    expect((await t.call(`POST /admin/badge-events/${event.id}/reject`)).body.status).toBe('rejected')
    expect((await t.mint(code, { recipient: wallet(2), poapEventId: event.id })).status).toBe(400)
    expect(await t.isGood(code)).toBe(true)
    expect((await t.call(`GET /admin/badge-events/${event.id}/claims`)).body).toHaveLength(1)
  })

  test('an event that is not there is a 404', async () => {
    const t = await open()
    expect((await t.call('POST /admin/badge-events/99/approve')).status).toBe(404)
    expect((await t.call('POST /admin/badge-events/99/reject')).status).toBe(404)
    expect((await t.call('GET /admin/badge-events/99/claims')).status).toBe(404)
  })

  test('every change has its line in the audit log, which holds no code and no address', async () => {
    const t = await open()
    const event = await openEvent(t)
    const code = await event.code()
    await t.mint(code, { recipient: 'ana@example.org', poapEventId: event.id })
    const lines = await t.audit('action=badge-events')
    expect(lines.map(({ action, team }) => [action, team])).toEqual([
      ['badge-events.mint', 'Acme'],
      ['badge-events.assign', 'Acme'],
      ['badge-events.create', 'Acme'],
    ])
    const text = JSON.stringify(lines)
    expect(text).not.toContain(code)
    expect(text).not.toContain('ana@')
  })
})

describe('settings', () => {
  test.each([
    [{ TAPCHIP_BADGE_PROVIDER: 'other' }, /badgeProvider .*must be embedded or poap/],
    [{ TAPCHIP_BADGE_PROVIDER: 'poap' }, /set TAPCHIP_POAP_API_KEY, TAPCHIP_POAP_CLIENT_ID/],
    [{ TAPCHIP_BADGE_APPROVAL: 'never' }, /badgeApproval/],
    [{ TAPCHIP_POAP_URL: 'ftp://poap.example' }, /poapUrl/],
    [{ TAPCHIP_POAP_POLL_SECONDS: '0' }, /poapPollSeconds/],
    [{ TAPCHIP_POAP_EMAIL: 'nobody' }, /poapEmail/],
  ])('%j is refused by name', async (env, message) => {
    await expect(openBadgeApp({ env })).rejects.toThrow(message)
  })
})

test('another word on the wire names paths, fields and the address of images', async () => {
  const t = await open({ env: { TAPCHIP_WIRE_BADGE: 'poap' } })
  const made = await eventForm()
  const created = await t.app.inject({
    method: 'POST',
    url: '/poap-events',
    headers: { 'x-svc-api-key': 'svc_acme_0123456789abcdef', ...made.headers },
    payload: made.payload,
  })
  const { id, poapResponse } = created.json()
  expect(poapResponse.image_url).toMatch(/\/poap-events\/\d+\/image$/)
  expect((await t.app.inject({ url: `/poap-events/${id}/image` })).statusCode).toBe(200)
  expect((await t.app.inject({ url: '/badge-events/1/image' })).statusCode).toBe(404)
  expect((await t.call('GET /admin/poap-events')).status).toBe(200)
})
