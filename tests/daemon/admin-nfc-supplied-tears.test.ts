import { afterEach, beforeEach, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import type { TearOff } from '../../src/nfc/emulator/card.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { foreignChip, theirKeysInHex as keys } from '../support/foreign-chips.ts'
import { type Chip, inA, nfcSeed, talk } from '../support/nfc.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed: nfcSeed })
})
afterEach(() => t.close())

const orders = {
  provision: { ...inA, keys, rekey: true },
  reset: { purpose: 'reset', keys },
} as const

const isPlanned = async (chip: Chip): Promise<boolean> =>
  (await t.call(`GET /admin/nfc/journal?uid=${chip.uid}`)).body.length > 0

/** The failed authentications that a tear may cost: only where the version of key 0 does not tell whose it is. */
const scenarios = [
  { what: 'provision', versions: [255, 0, 1, 0, 0], costs: 0, variant: {} },
  { what: 'reset', versions: [0, 0, 0, 0, 0], costs: 1, variant: {} },
  { what: 'provision', versions: [1, 1, 1, 1, 1], costs: 0, variant: { randomId: true } },
  { what: 'reset', versions: [1, 0, 0, 0, 0], costs: 0, variant: { randomId: true } },
] as const

test.each(scenarios)(
  '$what with keys of versions $versions $variant, torn at every APDU, is completed by recover, without the keys',
  async ({ what, versions, costs, variant }) => {
    const order = orders[what]
    const status = what === 'reset' ? 'factory' : 'provisioned'
    const whole = foreignChip({ versions, variant })
    const card = whole.put()
    expect(await talk(t.call, card, { ...order })).toMatchObject({ status })
    expect(whole.failedAuthentications).toBe(0)
    let planned = 0
    for (let apdu = 1; apdu <= card.sent; apdu += 1) {
      const chip = foreignChip({ versions, variant })
      const when: TearOff['when'] = apdu % 2 === 0 ? 'before' : 'after'
      await expect(talk(t.call, chip.put({ apdu, when }), { ...order })).rejects.toThrow(CardGone)
      const isBegun = await isPlanned(chip)
      planned += isBegun ? 1 : 0
      // Before the plan nothing was changed, and the same command begins again.
      const again = isBegun ? { purpose: 'recover', originality: 'emulated' } : order
      expect({ apdu, ...(await talk(t.call, chip.put(), { ...again })) }).toMatchObject({ apdu, status })
      expect(await isPlanned(chip)).toBe(false)
      expect(chip.failedAuthentications).toBeLessThanOrEqual(costs)
      if (what === 'provision')
        expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
      else expect([chip.versions, new Set(chip.keys).size]).toEqual([[0, 0, 0, 0, 0], 1])
    }
    expect(planned).toBeGreaterThan(20)
  },
  120_000,
)
