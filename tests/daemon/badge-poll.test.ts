import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Poller } from '../../src/daemon/domain/badge-events/poll.ts'
import { openPoapApp } from '../support/badges.ts'

const codesUrl = 'POST /event/{id}/qr-codes'
type Test = Awaited<ReturnType<typeof openPoapApp>>
async function listed(t: Test, id: number) {
  const { body } = await t.call('GET /admin/badge-events')
  return body.find((one: { id: number }) => one.id === id)
}

describe('the poller', () => {
  test('is not kept from its work by those who call for it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const t = await openPoapApp()
    const { providers } = t.ctx.badges
    // The first thing that its work asks for.
    const monotonic = vi.fn(() => t.ctx.clock.monotonic())
    const poller = new Poller({
      ...t.ctx,
      clock: { now: () => t.ctx.clock.now(), monotonic },
      providers,
      settler: t.ctx.badges.settler,
      pollSeconds: 60,
      random: () => 0.5,
      failed: () => undefined,
      onDecided: () => undefined,
    })
    poller.start()
    for (let n = 0; n < 12; n += 1) {
      poller.wake()
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(monotonic.mock.calls.length).toBeGreaterThanOrEqual(1)
    await poller.stop()
  })

  test('leaves POAP alone while nothing can be written here', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    t.poap.approve(body.poapResponse.id)
    const spy = vi.spyOn(t.ctx.db, 'write').mockRejectedValue(new Error('disk full'))
    for (let n = 0; n < 10; n += 1) {
      await t.ctx.badges.tick()
      t.clock.advance('1s')
    }
    expect(t.poap.count(codesUrl)).toBe(1)
    t.clock.advance('30s')
    await t.ctx.badges.tick()
    t.clock.advance('30s')
    await t.ctx.badges.tick()
    expect(t.poap.count(codesUrl)).toBe(2)
    spy.mockRestore()
    t.clock.advance('2m')
    await t.ctx.badges.tick()
    expect((await listed(t, body.id)).status).toBe('active')
  })

  test('asks later about what failed here', async () => {
    const t = await openPoapApp()
    const { body } = await t.create()
    t.poap.approve(body.poapResponse.id)
    const { db } = t.ctx
    const write = db.write.bind(db)
    let calls = 0
    const spy = vi.spyOn(db, 'write').mockImplementation((job) => {
      calls += 1
      return calls === 1 ? Promise.reject(new Error('once')) : write(job)
    })
    for (let n = 0; n < 10; n += 1) await t.ctx.badges.tick()
    spy.mockRestore()
    expect(t.poap.count(codesUrl)).toBe(1)
    t.clock.advance('5m')
    await t.ctx.badges.tick()
    expect((await listed(t, body.id)).status).toBe('active')
  })
})
