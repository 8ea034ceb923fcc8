import { expect, test } from 'vitest'
import { tapUnderKills } from '../support/fleet-taps.ts'

// TAPCHIP_FLEET_TAPS=20000 takes as many at 300 a second, and kills a daemon every two seconds.
const many = Number(process.env.TAPCHIP_FLEET_TAPS ?? 0)
const run =
  many > 0
    ? { taps: many, chips: 200, tapsPerKill: 600, rate: 300 }
    : { taps: 400, chips: 30, tapsPerKill: 130, rate: undefined }

test('no tap that was answered valid is valid again, or lost, while one daemon after the other is killed', async () => {
  const ledger = await tapUnderKills(run)
  const { answered, kills, valid, recorded } = ledger
  if (many > 0) console.log(JSON.stringify(ledger))
  expect(answered).toBe(run.taps)
  expect(kills).toBe(Math.floor(run.taps / run.tapsPerKill))
  expect(ledger).toMatchObject({ twice: [], lost: [] })
  expect(recorded.rows).toBe(recorded.distinct)
  expect(recorded.rows).toBeGreaterThanOrEqual(valid)
  // A tap whose answer was lost may be used up, and no other.
  expect(run.taps - valid).toBeLessThanOrEqual(ledger.unanswered)
}, 240_000)
