import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { deleteOld, makeTapMonths } from '../../src/daemon/domain/operations/retention.ts'
import { copyStores } from '../../src/daemon/process/store-copy.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { databaseOf, dropDatabaseOf, testDataKey } from '../support/postgres.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

test('where every month of taps went, the newest tap stays, and a copy in a file goes on from it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-months-'))
  onTestFinished(async () => {
    rmSync(dir, { recursive: true, force: true })
    await dropDatabaseOf(dir)
  })
  const clock = testClock()
  const env: Record<string, string> = { ...(await databaseOf(dir)), TAPCHIP_KEEP_TAPS_DAYS: '30' }
  const find = (counter: number) => tapPath(tap(derived, { uid: uids.events }, counter), '/chips/find')
  const server = await openTestApp({ seed, clock, env })
  await makeTapMonths(server.ctx.db, clock.now())
  for (let counter = 1; counter <= 20; counter += 1) await server.app.inject({ url: find(counter) })
  for (const verb of ['disable', 'enable'])
    await server.app.inject({
      method: 'POST',
      url: `/admin/chips/${uids.events}/${verb}`,
      headers: server.admin,
    })
  for (const later of ['100d', '2d'] as const) {
    clock.advance(later)
    await makeTapMonths(server.ctx.db, clock.now())
    await deleteOld(server.ctx)
  }
  expect(await server.ctx.db.read.selectFrom('taps').select('counter').execute()).toEqual([{ counter: 20 }])
  await server.close()

  const to = join(dir, 'sqlite')
  const from = env.TAPCHIP_DATABASE_URL ?? ''
  await copyStores({ from, to }, { dataKey: testDataKey } as never, () => undefined)
  const file = { TAPCHIP_DATABASE_URL: '', TAPCHIP_DATA_KEY: testDataKey }
  const copy = await openTestApp({ clock, dataDir: to, env: file })
  const { otp } = (await copy.app.inject({ url: find(21) })).json()
  // Below the ID up to which the chip's taps have ended, it would be expired at once.
  expect((await copy.app.inject({ url: `/otps/${otp.code}` })).json().isExpired).toBe(false)
  await copy.close()
})
