import { describe, expect, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { testClock } from '../support/daemon.ts'
import { phygitalsForTest } from '../support/phygitals.ts'

describe("an owner's signature", () => {
  test('with its expiry in milliseconds is refused, and says why', async () => {
    const clock = testClock()
    const p = await phygitalsForTest({ clock })
    const body = {
      ...p.token('JKT', 1),
      ownerSignature: `0x${'12'.repeat(65)}`,
      updates: { redirectUrl: 'https://owner.example/' },
      requestExpiryTime: clock.now() + 60_000,
    }
    const { status, body: answer } = await p.ask('/chips/self-service', body, { method: 'PATCH' })
    expect({ status, message: answer.message }).toEqual({
      status: 400,
      message: expect.stringMatching(/in seconds/),
    })
  })

  test('stays used after housekeeping', async () => {
    const clock = testClock()
    const p = await phygitalsForTest({ clock })
    await p.ctx.db.write((trx) =>
      trx
        .insertInto('usedSignatures')
        .values({ digest: 'x', expiresAt: new Date(clock.now() + 60_000).toISOString() })
        .execute(),
    )
    await cleanUp(p.ctx)
    expect(await p.ctx.db.read.selectFrom('usedSignatures').selectAll().execute()).toHaveLength(1)
  })
})
