import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/cli/client/client.ts'
import type { Client } from '../../src/cli/client/types.ts'
import { forwardApdus, type Order, type SessionResult } from '../../src/cli/nfc/forward-apdus.ts'
import { CardGone } from '../../src/nfc/card.ts'
import { EmulatedCard } from '../../src/nfc/emulator/card.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { Chip, inA, nfcSeed, noStop } from '../support/nfc.ts'

// Through HTTP, with what makes the field worse than a desk: clients that are killed and close no session, readers that
// pass only short commands, and chips with a loop.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let client: Client
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
  client = createClient({ url: daemon.url, adminToken: () => daemon.adminToken })
})
afterAll(async () => {
  client.close()
  await daemon.stop()
})

type CardOptions = ConstructorParameters<typeof EmulatedCard>[2]

/** A client that is killed sends nothing after the last APDU. */
const killed: Pick<Client, 'call'> = {
  call: (...call) =>
    call[0] === 'DELETE /admin/nfc/sessions/:id' ? Promise.reject(new Error('killed')) : client.call(...call),
}

const on = async (
  chip: Chip,
  order: Order,
  options: CardOptions = {},
  api: Pick<Client, 'call'> = client,
): Promise<SessionResult> => {
  const card = new EmulatedCard('test', chip.chip, options)
  try {
    return await forwardApdus(api, card, { station: 'table-1', ...order }, { stop: noStop() })
  } finally {
    card.lift()
  }
}

const apdusOf = async (chip: Chip, order: Order, options: CardOptions = {}): Promise<number> => {
  const card = new EmulatedCard('test', chip.chip, options)
  await forwardApdus(client, card, order, { stop: noStop() })
  return card.sent
}

const fields: Record<
  string,
  { variant?: { tamper: boolean }; options?: CardOptions; more?: { maxLc: number } }
> = {
  'a client that is killed': {},
  'a client that is killed at a reader that passes 59 bytes': { options: { maxLc: 59 }, more: { maxLc: 59 } },
  'a client that is killed with a TagTamper': { variant: { tamper: true } },
}

test.each(Object.entries(fields))(
  '%s, at every APDU of a set-up and of a reset: one recover at once is enough',
  async (_, { variant, options = {}, more = {} }) => {
    const fresh = async (isSetUp: boolean): Promise<Chip> => {
      const chip = new Chip(undefined, variant)
      if (isSetUp)
        expect(await on(chip, { ...inA, ...more }, options)).toMatchObject({ status: 'provisioned' })
      return chip
    }
    for (const [order, expected] of [
      [{ ...inA, ...more }, 'provisioned'],
      [{ purpose: 'reset', ...more }, 'factory'],
    ] as [Order, string][]) {
      const isReset = expected === 'factory'
      const apdus = await apdusOf(await fresh(isReset), order, options)
      let begun = 0
      // Before the 12th nothing is planned, and such sessions would only pile up.
      for (let apdu = 12; apdu <= apdus; apdu += 1) {
        const chip = await fresh(isReset)
        const tear = { ...options, tear: { apdu, when: 'after' as const } }
        await expect(on(chip, order, tear, killed)).rejects.toThrow(CardGone)
        const [open] = await client.call('GET /admin/nfc/journal', { query: { uid: chip.uid } })
        if (!open) continue
        begun += 1
        expect(await on(chip, { purpose: 'recover', ...more }, options)).toMatchObject({ status: expected })
        expect(chip.versions).toEqual(Array(5).fill(isReset ? 0 : 1))
        expect(chip.failedAuthentications).toBe(0)
        if (variant) expect(chip.chip.memory.tamper?.enabled).toBe(true)
        if (variant && !isReset) expect(await chip.tap()).toMatch(/&t=CC&c=/)
      }
      expect(begun).toBeGreaterThan(20)
    }
  },
  60_000,
)

test('a reader that refuses a long command is named by it, and the chip goes on with short ones', async () => {
  const chip = new Chip()
  const limit = { maxLc: 59 }
  // The shortest URL fits into one command of 59 bytes or more.
  expect(await on(chip, inA, limit)).toMatchObject({ status: 'failed', code: 'ReaderLimit', uid: chip.uid })
  expect(await on(chip, { purpose: 'recover', ...limit }, limit)).toMatchObject({ status: 'provisioned' })
  expect(await on(chip, { purpose: 'reset' }, limit)).toMatchObject({ status: 'failed', code: 'ReaderLimit' })
  expect(await on(chip, { purpose: 'recover', ...limit }, limit)).toMatchObject({ status: 'factory' })
})
