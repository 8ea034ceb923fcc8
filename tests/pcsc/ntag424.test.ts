import { describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { backendNames } from '../../src/nfc/pcsc/protocol.ts'
import { apply } from '../../src/nfc/provision/apply.ts'
import { inspect } from '../../src/nfc/provision/inspect.ts'
import { plan } from '../../src/nfc/provision/plan.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript } from '../../src/nfc/script.ts'
import { deps, TestChip, template, uid } from '../nfc/virtual-card.ts'
import { openPcscd, openReaders } from '../support/pcsc/opened.ts'
import { emulated } from '../support/pcsc/vpcd.ts'

const made = plan({ uid, from: ['factory'], target: { keySet: 3, generation: 0 }, template })
const setUp = function* () {
  return yield* apply(made, yield* inspect(), deps())
}

describe.concurrent.each(backendNames)('an NTAG 424 on a real pcscd with %s', (backend) => {
  test('is set up in no more than 23 commands, and a tap costs exactly one count', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const { chip } = new TestChip()
    let commands = 0
    await pcscd.present(0, {
      ...emulated(chip),
      transmit: (apdu) => {
        commands += 1
        return chip.process(apdu)
      },
    })
    const card = await readers.waitForCard()
    await runScript(card, setUp())
    // Two are for the capability file: whether another system locked it, and that phones may not write.
    expect(commands).toBeLessThanOrEqual(23)
    expect(chip.memory.sdmReadCounter).toBe(0)
    expect(await runScript(card, readTap())).toMatchObject({ family: 'ntag424', d: '3' })
    expect(chip.memory.sdmReadCounter).toBe(1)
  })

  test('that is lifted while it is set up says so, and goes on from there when it is put back', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const { chip } = new TestChip()
    let left = 8
    const torn = await pcscd.present(0, {
      ...emulated(chip),
      transmit: (apdu) => (left-- > 0 ? chip.process(apdu) : undefined),
    })
    const card = await readers.waitForCard()
    await expect(runScript(card, setUp())).rejects.toThrow(CardGone)
    await torn.removed
    await card.removed()
    const waiting = readers.waitForCard()
    await pcscd.present(0, emulated(chip))
    const again = await waiting
    await runScript(again, setUp())
    expect(await runScript(again, readTap())).toMatchObject({ family: 'ntag424', d: '3' })
  })
})
