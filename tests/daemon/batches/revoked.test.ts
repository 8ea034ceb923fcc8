import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp } from '../../support/admin.ts'
import { batchesBy, linesOf } from '../../support/batches.ts'
import { type TestClock, testClock } from '../../support/daemon.ts'
import { seed, uids } from '../../support/seeds.ts'

let t: AdminApp
let clock: TestClock
let log: string[]
let root: ReturnType<typeof batchesBy>
beforeEach(async () => {
  log = []
  clock = testClock('2026-11-27T12:00:00.000Z')
  t = await openAdminApp({ seed, clock, log: (line) => log.push(line) })
  root = batchesBy(t)
})
afterEach(() => t.close())

async function keyWith(name: string, scopes: string[], expiresAt?: string) {
  const { key, id } = (await t.call('POST /admin/api-keys', { team: 'Acme', name, scopes, expiresAt })).body
  return { id, by: batchesBy(t, { 'x-svc-api-key': key }, '/batches') }
}
const revoke = (id: number) => t.call(`DELETE /admin/api-keys/${id}`)
const redirectOf = async (hex: string) => (await t.call(`GET /admin/chips/${hex}`)).body.redirectUrl
const lead = (url: string) => [{ row: 1, uid: uids.blank, redirectUrl: url }]
const revoked = 'The API key "laptop", which started it, was revoked. Another credential can resume it.'
const tick = () => t.ctx.batches.tick()

describe('a credential that is revoked', () => {
  test('stops the batch that it runs: no row is handled after it, and another one resumes the rest', async () => {
    const { token, id: tokenId } = (
      await t.call('POST /admin/admin-tokens', { name: 'ops', scopes: ['provision', 'edit'] })
    ).body
    const ops = batchesBy(t, bearer(token))
    const rows = Array.from({ length: 60 }, (_, n) => ({
      ...{ row: n + 1, uid: `04AD${n.toString(16).padStart(8, '0').toUpperCase()}80` },
      ...{ chipGroup: 'New', keySet: 101 },
    }))
    const there = (await t.ctx.db.read.selectFrom('chips').select('uid').execute()).length
    const id = await ops.uploaded('chips apply', rows, { rate: 20 })
    await ops.call('POST', `/${id}/start`)
    const running = tick()
    await expect.poll(async () => (await root.show(id)).done, { interval: 20 }).toBeGreaterThan(1)
    expect((await t.call(`DELETE /admin/admin-tokens/${tokenId}`)).status).toBe(200)
    const at = await root.show(id)
    await running
    await tick()
    expect(at).toMatchObject({ state: 'paused', startedBy: 'ops' })
    expect(at.done).toBeLessThan(60)
    expect(at.error).toBe(
      'The admin token "ops", which started it, was revoked. Another credential can resume it.',
    )
    expect(await root.show(id)).toEqual(at)
    const made = async () => (await t.ctx.db.read.selectFrom('chips').select('uid').execute()).length - there
    expect(await made()).toBe(at.done)
    expect(log.join('')).toContain('a batch was paused: its credential has ended')
    expect(await t.audit(`action=batches.pause&batch=${id}`)).toMatchObject([
      { actor: 'admin:root', detail: { kind: 'chips apply', reason: at.error } },
    ])
    expect(await root.run(id, 'resume', { rate: 10_000 })).toMatchObject({
      ...{ state: 'done', startedBy: 'root', done: 60, changed: 60, error: null },
    })
    expect(await made()).toBe(60)
    expect(await t.audit(`action=batches.end&batch=${id}`)).toMatchObject([{ actor: 'admin:root' }])
  })

  test('loses its batch to whoever resumes it at once, before its rows under way have ended', async () => {
    const ops = await keyWith('laptop', ['read', 'edit'])
    const rows = Array.from({ length: 12 }, (_, n) => ({
      ...{ row: n + 1, uid: uids.blank, redirectUrl: `https://${n}.example/` },
    }))
    const id = await ops.by.uploaded('chips edit', rows, { rate: 20 })
    await ops.by.call('POST', `/${id}/start`)
    const running = tick()
    await expect.poll(async () => (await root.show(id)).done, { interval: 10 }).toBeGreaterThan(1)
    await revoke(ops.id)
    const edits = () => t.audit(`action=chips.batch&batch=${id}`)
    const before = await edits()
    await root.call('POST', `/${id}/resume`, {})
    await running
    await tick()
    expect(await root.show(id)).toMatchObject({ state: 'done', startedBy: 'root', done: 12 })
    const after = (await edits()).slice(0, -before.length)
    expect(after.length).toBeGreaterThan(1)
    for (const { actor } of after) expect(actor).toBe('admin:root')
  })

  test('keeps what it scheduled from starting; resumed, it waits for its time again', async () => {
    const ops = await keyWith('laptop', ['read', 'edit'])
    const id = await ops.by.uploaded('chips edit', lead('https://a.example/'), {
      at: '2026-11-27T18:00:00Z',
    })
    await ops.by.run(id)
    await revoke(ops.id)
    expect(await root.show(id)).toMatchObject({ state: 'paused', error: revoked })
    clock.advance('300m')
    const other = await keyWith('other', ['read', 'edit'])
    expect(await other.by.run(id, 'resume', {})).toMatchObject({ state: 'scheduled', startedBy: 'other' })
    await revoke(other.id)
    clock.advance('120m')
    await tick()
    await tick()
    expect(await redirectOf(uids.blank)).toBeNull()
    expect(await root.run(id, 'resume', {})).toMatchObject({ state: 'done', startedBy: 'root', changed: 1 })
  })

  test('takes what it proposed with it: whoever resumes it proposes it, and somebody else approves it', async () => {
    const ops = await keyWith('laptop', ['read', 'edit'])
    const id = await ops.by.uploaded('chips edit', lead('https://b.example/'), { propose: true })
    await ops.by.plan(id)
    await ops.by.run(id)
    await revoke(ops.id)
    const boss = await keyWith('boss', ['read', 'edit', 'approve'])
    expect((await boss.by.call('POST', `/${id}/approve`)).body).toMatchObject({
      ...{ code: 'conflict', message: `Batch ${id} is paused. ${revoked}` },
    })
    expect(await boss.by.run(id, 'resume', {})).toMatchObject({ state: 'proposed', startedBy: 'boss' })
    expect((await boss.by.call('POST', `/${id}/approve`)).body).toMatchObject({ code: 'own_batch' })
    expect(await root.run(id, 'approve')).toMatchObject({ state: 'done', approvedBy: 'root', changed: 1 })
    // An approval does not outlive the one who proposed it.
    const next = await keyWith('next', ['read', 'edit'])
    const times = { propose: true, at: '2026-11-28T18:00:00Z' }
    const later = await next.by.uploaded('chips edit', lead('https://c.example/'), times)
    await next.by.plan(later)
    await next.by.run(later)
    expect(await boss.by.run(later, 'approve')).toMatchObject({ state: 'scheduled', approvedBy: 'boss' })
    await revoke(next.id)
    expect(await boss.by.run(later, 'resume', {})).toMatchObject({ state: 'proposed', approvedBy: null })
    expect(await root.run(later, 'approve')).toMatchObject({ state: 'scheduled', startedBy: 'boss' })
  })

  test('leaves a plan to be started by somebody with its scopes, in his own name', async () => {
    const ops = await keyWith('laptop', ['read', 'edit'])
    const id = await ops.by.uploaded('chips edit', lead('https://d.example/'))
    await ops.by.plan(id)
    await revoke(ops.id)
    expect(await root.show(id)).toMatchObject({ state: 'planned', error: null })
    expect(await root.run(id)).toMatchObject({ state: 'done', startedBy: 'root', changed: 1 })
  })

  test('meets ten who start and resume at the same moment: whoever goes on is not the one that was revoked', async () => {
    const ops = await keyWith('laptop', ['read', 'edit'])
    const ids = await Promise.all(
      [1, 2, 3].map(async (n) => {
        const id = await ops.by.uploaded('chips edit', lead(`https://${n}.example/`), {
          at: '2026-11-27T18:00:00Z',
        })
        await ops.by.plan(id)
        return id
      }),
    )
    await Promise.all(
      ids.flatMap((id) => [
        ops.by.call('POST', `/${id}/start`),
        revoke(ops.id),
        ...Array.from({ length: 10 }, () => root.call('POST', `/${id}/resume`, {})),
      ]),
    )
    clock.advance('360m')
    await tick()
    await tick()
    for (const id of ids) {
      const { state, startedBy } = await root.show(id)
      // Never started, paused with ops, or taken over by root.
      expect([`planned laptop`, 'paused laptop', 'done root']).toContain(`${state} ${startedBy}`)
    }
  })
})

test('a credential that expires stops its batches within a look of the loop', async () => {
  const ops = await keyWith('laptop', ['read', 'edit'], '2026-11-27T17:00:00.000Z')
  const id = await ops.by.uploaded('chips edit', lead('https://e.example/'), { at: '2026-11-27T16:00:00Z' })
  await ops.by.run(id)
  clock.advance('360m')
  await tick()
  expect(await root.show(id)).toMatchObject({
    state: 'paused',
    error: 'The API key "laptop", which started it, has expired. Another credential can resume it.',
  })
  expect(await redirectOf(uids.blank)).toBeNull()
  expect(await t.audit(`action=batches.pause&batch=${id}`)).toMatchObject([{ actor: 'daemon' }])
})

test('what is to be taken back at its end waits for somebody else', async () => {
  const ops = await keyWith('laptop', ['read', 'edit'])
  const id = await ops.by.uploaded('chips edit', lead('https://f.example/'), {
    until: '2026-11-28T12:00:00Z',
  })
  await ops.by.plan(id)
  await ops.by.run(id)
  await revoke(ops.id)
  expect(await root.show(id)).toMatchObject({ state: 'done', changed: 1 })
  clock.advance('24h')
  for (let n = 0; n < 4; n += 1) await tick()
  expect(await redirectOf(uids.blank)).toBe('https://f.example/')
  const [undo] = (await root.call('GET', '')).body
  expect(undo).toMatchObject({ undoes: id, state: 'paused', error: revoked })
  expect(await root.run(undo.id, 'resume', {})).toMatchObject({ state: 'done', startedBy: 'root' })
  expect(await root.show(id)).toMatchObject({ state: 'undone' })
  expect(await redirectOf(uids.blank)).toBeNull()
})

test('what a batch does after the key of a follower was revoked is not told to it', async () => {
  const { key, id: keyId } = (
    await t.call('POST /admin/api-keys', { team: 'Acme', name: 'follower', scopes: ['edit'] })
  ).body
  const id = await root.uploaded('chips edit', lead('https://a.example/followed'))
  await root.plan(id)
  await root.call('POST', `/${id}/start`)
  const answer = await t.app.inject({
    url: `/batches/${id}/follow`,
    headers: { 'x-svc-api-key': key },
    payloadAsStream: true,
  })
  const pieces = answer.stream()[Symbol.asyncIterator]()
  expect(linesOf(String((await pieces.next()).value))).toMatchObject([{ batch: { state: 'running' } }])
  await revoke(keyId)
  await tick()
  const told = linesOf(String((await pieces.next()).value))
  expect(told).toMatchObject([{ statusCode: 401, code: 'api_key_revoked' }])
  expect((await pieces.next()).done).toBe(true)
})
