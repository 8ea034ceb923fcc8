import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { backendNames } from '../../src/nfc/pcsc/protocol.ts'
import { apply } from '../../src/nfc/provision/apply.ts'
import { inspect } from '../../src/nfc/provision/inspect.ts'
import { plan } from '../../src/nfc/provision/plan.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript } from '../../src/nfc/script.ts'
import { deps, TestChip, template, uid } from '../nfc/virtual-card.ts'
import { follow, openPcscd, openReaders, pollElsewhere, shareElsewhere } from '../support/pcsc/opened.ts'
import type { Chip } from '../support/pcsc/vpcd.ts'

const made = plan({ uid, from: ['factory'], target: { keySet: 3, generation: 0 }, template })
const setUp = function* () {
  return yield* apply(made, yield* inspect(), deps())
}

/** Chips one after another in the place of one card, which is faster than to lift them. */
class Changing implements Chip {
  chip = new TestChip().chip
  readonly looks = new EventEmitter()
  count = 0

  reset(): void {
    this.chip.powerOff()
  }

  transmit(apdu: Uint8Array): Uint8Array {
    if (apdu[0] === 0xff && apdu[1] === 0xca) {
      this.count += 1
      this.looks.emit('look')
    }
    return this.chip.process(apdu)
  }
}

/** Its reader may take long to see it. Meanwhile pcscd has all wait who connect, when they are half connected. */
class SlowlySeen implements Chip {
  readonly looks = new EventEmitter()
  losses = 0
  #sight = Promise.resolve()

  reset(): void {
    this.losses += 1
  }

  seen(): Promise<void> {
    this.looks.emit('look')
    return this.#sight
  }

  transmit(): Uint8Array {
    return Uint8Array.of(0x90, 0x00)
  }

  /** @returns what ends the look that has begun */
  async lookLong(): Promise<() => void> {
    let see = () => {}
    this.#sight = new Promise((resolve) => {
      see = resolve
    })
    await once(this.looks, 'look')
    this.#sight = Promise.resolve()
    return see
  }
}

const select = Uint8Array.of(0x00, 0xa4, 0x04, 0x00, 0x00)
const inUse = 'powerState: POWER_STATE_IN_USE'
const unused = 'powerState: POWER_STATE_GRACE_PERIOD'

describe.concurrent.each(backendNames)('beside another program, with %s', (backend) => {
  test('that polls the card, 50 of 50 set-ups are done', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const field = new Changing()
    await (await pcscd.present(0, field)).powered
    await pollElsewhere(t, pcscd, pcscd.readers[0], { pauseMs: 10 })
    for (let done = 0; done < 50; done++) {
      const card = await readers.waitForCard({ timeoutMs: 10_000 })
      field.chip = new TestChip().chip
      await runScript(card, setUp())
      expect(await runScript(card, readTap())).toMatchObject({ family: 'ntag424', d: '3' })
      expect(field.chip.memory.failedAuthentications).toBe(0)
      await card.release()
      // The other has its turn as well.
      if (done % 5 === 0) await once(field.looks, 'look')
    }
    expect(field.count).toBeGreaterThanOrEqual(10)
  })

  test('that let go while we connected, the card keeps its power', async (t) => {
    const pcscd = await openPcscd(t, { log: true })
    const readers = openReaders(t, { backend, env: pcscd.env })
    const chip = new SlowlySeen()
    await (await pcscd.present(0, chip)).powered
    const other = await shareElsewhere(t, pcscd, pcscd.readers[0])
    await readers.list()

    const see = await chip.lookLong()
    const ours = pcscd.logged(inUse)
    const waiting = readers.waitForCard()
    await ours
    const theirs = pcscd.logged(unused)
    other.disconnect()
    await theirs
    see()

    const card = await waiting
    chip.losses = 0
    // pcscd takes a card's power, if it does, at the second of its looks.
    for (let look = 0; look < 4; look++) await once(chip.looks, 'look')
    expect(chip.losses).toBe(0)
    expect(await card.transmit(select)).toEqual(chip.transmit())
  })

  test('that connects while we do, neither waits for the other without end', async (t) => {
    const pcscd = await openPcscd(t, { log: true })
    const readers = openReaders(t, { backend, env: pcscd.env })
    const chip = new SlowlySeen()
    await (await pcscd.present(0, chip)).powered
    // Nobody has it, but its power is still on.
    const before = await shareElsewhere(t, pcscd, pcscd.readers[0])
    await readers.list()
    const see = await chip.lookLong()
    const free = pcscd.logged(unused)
    before.disconnect()
    await free

    // pcscd asks whether the card is free before it has us wait, so it lets in both.
    const ours = pcscd.logged(inUse)
    const waiting = readers.waitForCard()
    await ours
    const theirs = pcscd.logged(inUse)
    await pollElsewhere(t, pcscd, pcscd.readers[0])
    await theirs
    see()

    const card = await waiting
    expect(await card.transmit(select)).toEqual(chip.transmit())
  })
})

test.concurrent('a program that keeps the card for a while now and then is waited for', async (t) => {
  const pcscd = await openPcscd(t)
  const readers = openReaders(t, { env: pcscd.env })
  const field = new Changing()
  await (await pcscd.present(0, field)).powered
  await pollElsewhere(t, pcscd, pcscd.readers[0], { pauseMs: 20, holdMs: 300, holdEvery: 2 })
  for (let done = 0; done < 3; done++) {
    // The next look, or the one after it, keeps the card.
    await once(field.looks, 'look')
    const card = await readers.waitForCard()
    field.chip = new TestChip().chip
    await runScript(card, setUp())
    await card.release()
  }
})

// pcsc-mini knows no more than four.
const mostReaders = [
  ['nfc-pcsc', ['Left', 'Middle', 'Right']],
  ['pcsc-mini', ['Left', 'Right']],
] as const
test.concurrent.for(mostReaders)('with %s, readers work side by side: %j', async ([backend, names], t) => {
  const pcscd = await openPcscd(t, { names })
  const readers = openReaders(t, { backend, env: pcscd.env })
  const events = follow(t, readers)
  let [inWork, mostInWork] = [0, 0]
  const counted = ({ chip }: TestChip): Chip => ({
    transmit: async (apdu) => {
      inWork += 1
      mostInWork = Math.max(mostInWork, inWork)
      await delay(10)
      inWork -= 1
      return chip.process(apdu)
    },
  })
  await Promise.all(pcscd.readers.map((_, slot) => pcscd.present(slot, counted(new TestChip()))))
  const cards = []
  for (const _ of pcscd.readers) cards.push((await events.next('card')).card)
  await Promise.all(cards.map((card) => runScript(card, setUp())))
  expect(cards.map(({ reader }) => reader).sort()).toEqual([...pcscd.readers].sort())
  expect(mostInWork).toBe(2 * names.length)
})
