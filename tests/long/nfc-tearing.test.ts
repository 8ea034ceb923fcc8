import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/cli/client/client.ts'
import type { Client } from '../../src/cli/client/types.ts'
import { forwardApdus, type Order, type SessionResult } from '../../src/cli/nfc/forward-apdus.ts'
import { CardGone } from '../../src/nfc/card.ts'
import type { TearOff } from '../../src/nfc/emulator/card.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { Chip, inA, keySets, nfcSeed, noStop } from '../support/nfc.ts'

// Relay, HTTP, daemon and its database, with the card lifted at every single APDU.

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

const run = async (chip: Chip, order: Order, tear?: TearOff): Promise<SessionResult> => {
  const card = chip.put(tear)
  try {
    return await forwardApdus(client, card, order, { stop: noStop() })
  } finally {
    card.lift()
  }
}

const journal = (uid: string, all = false) => client.call('GET /admin/nfc/journal', { query: { uid, all } })
const factory = '0'.repeat(32)

const orders: Record<string, { before?: Order; order: Order; versions: number; keySet: number | undefined }> =
  {
    'a set-up': { order: inA, versions: 1, keySet: 201 },
    'new keys': { before: inA, order: { ...inA, rekey: true }, versions: 2, keySet: 201 },
    'new keys of another key set': {
      before: inA,
      order: { ...inA, keySet: keySets.b.id, rekey: true },
      versions: 2,
      keySet: 202,
    },
    'a reset': { before: inA, order: { purpose: 'reset' }, versions: 0, keySet: undefined },
  }

const fresh = async (before: Order | undefined): Promise<Chip> => {
  const chip = new Chip()
  if (before) await run(chip, before)
  return chip
}

const apdusOf = async ({ before, order }: { before?: Order; order: Order }): Promise<number> => {
  const chip = await fresh(before)
  const card = chip.put()
  await forwardApdus(client, card, order, { stop: noStop() })
  return card.sent
}

describe.each(Object.entries(orders))('%s, torn at every APDU', (_, { before, order, versions, keySet }) => {
  const everyTear = async (check: (chip: Chip, torn: boolean) => Promise<void>) => {
    const apdus = await apdusOf({ ...(before ? { before } : {}), order })
    expect(apdus).toBeGreaterThan(30)
    for (let apdu = 1; apdu <= apdus; apdu += 1) {
      for (const when of ['before', 'after'] as const) {
        const chip = await fresh(before)
        await expect(run(chip, order, { apdu, when })).rejects.toThrow(CardGone)
        await check(chip, (await journal(chip.uid)).length > 0)
      }
    }
  }

  const assertWhole = async (chip: Chip) => {
    expect(chip.versions).toEqual(Array(5).fill(versions))
    expect(chip.failedAuthentications).toBe(0)
    expect(await journal(chip.uid)).toEqual([])
    if (versions === 0) {
      expect(chip.keys).toEqual(Array(5).fill(factory))
      expect(await chip.tap()).toBe('')
      return
    }
    const path = await chip.tapPath('/chips/find')
    const find = async () => (await fetch(daemon.url + path)).json() as Promise<{ isValidTap: boolean }>
    expect((await find()).isValidTap).toBe(true)
    expect((await find()).isValidTap).toBe(false)
    const record = await client.call('GET /admin/chips/:uid', { params: { uid: chip.uid } })
    expect(record).toMatchObject({ keySet, generation: versions - 1 })
    expect(record.lastCounter).toBe(chip.chip.memory.sdmReadCounter)
  }

  test('is brought to its end by recover', async () => {
    let begun = 0
    await everyTear(async (chip, torn) => {
      if (!torn) {
        // Nothing was planned yet, so nothing was written: it is as before.
        expect(chip.versions).toEqual(Array(5).fill(before ? 1 : 0))
        return
      }
      begun += 1
      const expected = versions === 0 ? 'factory' : 'provisioned'
      expect(await run(chip, { purpose: 'recover' })).toMatchObject({ status: expected, uid: chip.uid })
      await assertWhole(chip)
    })
    expect(begun).toBeGreaterThan(40)
  }, 120_000)

  if (versions === 1) {
    test('is brought to its end by the same command again', async () => {
      await everyTear(async (chip) => {
        expect(await run(chip, order)).toMatchObject({ status: 'provisioned' })
        await assertWhole(chip)
      })
    }, 120_000)

    test('is taken back to the factory by a reset', async () => {
      await everyTear(async (chip) => {
        expect(await run(chip, { purpose: 'reset' })).toMatchObject({ status: 'factory' })
        expect(chip.keys).toEqual(Array(5).fill(factory))
        expect(chip.failedAuthentications).toBe(0)
        expect(await journal(chip.uid)).toEqual([])
      })
    }, 120_000)
  }
})

test('torn again and again, also while it is recovered, a chip is never lost', async () => {
  const apdus = await apdusOf({ order: inA })
  let begun = 0
  for (let first = 11; first <= apdus; first += 3) {
    const chip = new Chip()
    await expect(run(chip, inA, { apdu: first, when: 'after' })).rejects.toThrow(CardGone)
    if ((await journal(chip.uid)).length === 0) {
      expect(chip.versions).toEqual(Array(5).fill(0))
      continue
    }
    begun += 1
    for (const apdu of [12, 14, 16, 18, 20]) {
      const order: Order = apdu === 16 ? { purpose: 'reset' } : { purpose: 'recover' }
      await run(chip, order, { apdu, when: apdu % 4 === 0 ? 'before' : 'after' }).catch((error: unknown) =>
        expect(error).toBeInstanceOf(CardGone),
      )
    }
    const end = await run(chip, { purpose: 'recover' })
    expect(['provisioned', 'factory']).toContain(end.status)
    expect(new Set(chip.versions).size).toBe(1)
    expect(chip.failedAuthentications).toBeLessThan(10)
    expect(await run(chip, inA)).toMatchObject({ uid: chip.uid })
    expect((await fetch(daemon.url + (await chip.tapPath()))).status).toBe(200)
  }
  expect(begun).toBeGreaterThan(7)
})
