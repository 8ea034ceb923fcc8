import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { auditWatch } from '../../src/daemon/process/audit-watch.ts'
import { recordChange } from '../../src/daemon/store/audit/audit.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { seed } from '../support/seeds.ts'
import { openReceiver, type Receiver } from '../support/webhooks.ts'

let t: AdminApp
let receiver: Receiver
let lines: string[]
beforeEach(async () => {
  lines = []
  const log = (line: string) => lines.push(line)
  t = await openAdminApp({ seed, env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' }, log })
  receiver = await openReceiver()
  await t.call('POST /admin/webhooks', { team: 'Acme', url: receiver.url })
  await t.call('POST /admin/webhooks', { team: 'Acme', url: receiver.url, events: ['audit.broken'] })
  await t.call('POST /admin/webhooks', { team: 'Acme', url: receiver.url, events: ['tap.valid'] })
})
afterEach(async () => {
  receiver.close()
  await t.close()
})

const change = (target: string) =>
  t.ctx.db.write((trx) =>
    recordChange(trx, {
      at: '2026-06-01T12:00:00.000Z',
      actor: { name: 'admin:alice', requestId: null },
      teamId: 1,
      action: 'chips.edit',
      target,
    }),
  )
const verdict = async () =>
  JSON.parse((await t.call('GET /admin/audit/verify')).text.trim().split('\n').at(-1) ?? '')
const status = async () => (await t.call('GET /admin/status')).body.audit
const metric = async () => /^tapchip_audit_broken (\d)/m.exec(await t.ctx.metrics.registry.metrics())?.[1]
const told = async () =>
  (await t.call('GET /admin/webhook-deliveries')).body.filter(
    ({ type }: { type: string }) => type === 'audit.broken',
  )

/** The head as somebody saves it who edits the database by hand. */
const saved = () => t.ctx.db.read.selectFrom('auditHead').selectAll().executeTakeFirstOrThrow()
const putBack = (head: Awaited<ReturnType<typeof saved>>) =>
  t.ctx.db.write(async (trx) => {
    await trx.deleteFrom('audit').where('id', '>', head.lastId).execute()
    await trx.updateTable('auditHead').set(head).execute()
  })

describe('a head that is put back while the daemon runs', () => {
  let watch: ReturnType<typeof auditWatch>
  beforeEach(() => {
    const { ctx } = t
    watch = auditWatch({ ...ctx, seal: ctx.auditSeal })
  })

  test('with the tail cut off is found, and told once to each webhook that wants to know', async () => {
    const head = await saved()
    for (const target of ['a', 'b', 'c']) await change(target)
    const { lastId } = await saved()
    await putBack(head)
    await watch.tick()
    await watch.tick()
    expect(await status()).toMatchObject({ broken: { lastId: head.lastId, expected: lastId } })
    expect(await metric()).toBe('1')
    expect((await verdict()).ok).toBe(false)
    const messages = await told()
    expect(messages).toHaveLength(2)
    expect(lines.filter((line) => line.includes('the audit log does not continue'))).toHaveLength(1)
    t.ctx.webhooks.start()
    await expect.poll(() => receiver.received.length).toBe(2)
    expect(receiver.received[0]).toMatchObject({
      type: 'audit.broken',
      data: { at: expect.any(String), lastId: head.lastId, expected: lastId },
    })
  })

  test('is not sealed by what is recorded before anybody looks', async () => {
    const head = await saved()
    await change('a')
    await putBack(head)
    for (const target of ['b', 'c', 'd']) await change(target)
    expect((await verdict()).ok).toBe(false)
    await watch.tick()
    expect(await told()).toHaveLength(2)
  })

  test('or a tail that is cut off alone, is found', async () => {
    await change('a')
    const { lastId } = await saved()
    await t.ctx.db.write((trx) => trx.deleteFrom('audit').where('id', '=', lastId).execute())
    await watch.tick()
    expect(await status()).toMatchObject({ broken: { expected: lastId } })
  })

  test('and nothing is told while the log only grows, also where writes are undone', async () => {
    await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) =>
        t.ctx.db.write(async (trx) => {
          await recordChange(trx, {
            ...{ at: '2026-06-01T12:00:00.000Z', actor: { name: 'seed', requestId: null } },
            ...{ teamId: 1, action: 'chips.edit', target: String(n) },
          })
          if (n % 2 === 1) throw new Error('undone')
        }),
      ),
    )
    await watch.tick()
    await change('later')
    await watch.tick()
    expect(await status()).toMatchObject({ broken: null, head: (await saved()).hash })
    expect(await metric()).toBe('0')
    expect(await verdict()).toMatchObject({ ok: true, beganAnew: [], sealedSince: expect.any(String) })
  })
})

test('the head goes out with each message of a webhook', async () => {
  await change('known elsewhere')
  const { hash } = await saved()
  t.ctx.webhooks.start()
  await t.call('POST /admin/webhooks/1/test')
  await expect.poll(() => receiver.received.length).toBeGreaterThan(0)
  expect(receiver.received[0]?.headers['tapchip-audit-head']).toBe(hash)
})
