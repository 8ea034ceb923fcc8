import { expect, onTestFinished, test } from 'vitest'
import { startTestDaemon } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

test.each([1, 2, 3, 4])('the first tap of a new database is found at once (%i)', async () => {
  const daemon = await startTestDaemon({ seed })
  onTestFinished(() => daemon.stop())
  const asked = await fetch(daemon.url + tapPath(tap(derived, { uid: uids.events }, 1), '/chips/find'))
  const { otp } = (await asked.json()) as { otp: { code: string } }
  // It was moved into the table of its month, and gone for those who asked meanwhile.
  expect((await fetch(`${daemon.url}/otps/${otp.code}`)).status).toBe(200)
})
