import { describe, expect, test } from 'vitest'
import { CardGone, NoCard, NoReader } from '../../src/nfc/card.ts'
import { backendNames } from '../../src/nfc/pcsc/protocol.ts'
import { readerUsers } from '../../src/nfc/pcsc/reader-users.ts'
import { follow, holdElsewhere, openPcscd, openReaders } from '../support/pcsc/opened.ts'

const ok = Uint8Array.of(0x90, 0x00)
const select = Uint8Array.of(0x00, 0xa4, 0x04, 0x00, 0x00)
/** Answers each command with the command itself. */
const echo = { transmit: (apdu: Uint8Array) => Uint8Array.of(...apdu, ...ok) }
/** Answers with a number of its own, so that it can be told from others. */
const numbered = (number: number) => ({ transmit: () => Uint8Array.of(number, ...ok) })
const atr = Uint8Array.of(0x3b, 0x81, 0x80, 0x01, 0x80, 0x80)

describe.concurrent.each(backendNames)('readers through a real pcscd and %s', (backend) => {
  test('are listed with what lies on them', async (t) => {
    const pcscd = await openPcscd(t)
    const [first, second] = pcscd.readers
    const readers = openReaders(t, { backend, env: pcscd.env })
    expect(await readers.list()).toEqual([
      { name: first, state: 'empty', isContact: false },
      { name: second, state: 'empty', isContact: false },
    ])
    expect((await readers.host()).backend).toBe(backend)

    await pcscd.present(1, echo)
    await readers.waitForCard()
    expect(await readers.list()).toEqual([
      { name: first, state: 'empty', isContact: false },
      { name: second, state: 'present', isContact: false },
    ])
  })

  test('give the card that is put down, or lies there already, and carry its commands', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const waiting = readers.waitForCard()
    await pcscd.present(0, echo)
    const card = await waiting
    expect([card.reader, card.atr]).toEqual([pcscd.readers[0], atr])
    expect(await card.transmit(select)).toEqual(Uint8Array.of(...select, ...ok))
    expect(await readers.waitForCard({ reader: pcscd.readers[0] })).toBe(card)

    // The longest command and the longest answer that are not extended.
    const long = Uint8Array.of(0x90, 0x8d, 0, 0, 255, ...Array<number>(250).fill(7))
    expect(await card.transmit(long)).toEqual(Uint8Array.of(...long, ...ok))
  })

  test('lose a card that is lifted in the middle of a command, and take the next', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const torn = await pcscd.present(0, { transmit: () => undefined })
    const card = await readers.waitForCard()
    await expect(card.transmit(select)).rejects.toThrow(CardGone)
    await expect(card.transmit(select)).rejects.toThrow(CardGone)
    await torn.removed
    await card.removed()
    const waiting = readers.waitForCard({ timeoutMs: 5_000 })
    await pcscd.present(0, echo)
    const next = await waiting
    expect(next).not.toBe(card)
    expect(await next.transmit(select)).toEqual(Uint8Array.of(...select, ...ok))
  })

  test('lose a card that is lifted between two commands', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const presented = await pcscd.present(0, echo)
    const card = await readers.waitForCard()
    await card.transmit(select)
    presented.remove()
    await expect(card.transmit(select)).rejects.toThrow(CardGone)
    await card.removed()
    await expect(readers.waitForCard({ timeoutMs: 1 })).rejects.toThrow(NoCard)
  })

  test('tell of each card that comes and goes, in order', async (t) => {
    const pcscd = await openPcscd(t)
    const events = follow(t, openReaders(t, { backend, env: pcscd.env }))
    expect((await events.next('reader-added')).reader).toBe(pcscd.readers[0])
    expect((await events.next('reader-added')).reader).toBe(pcscd.readers[1])
    for (const number of [1, 2, 3]) {
      const presented = await pcscd.present(0, numbered(number))
      const { card } = await events.next('card')
      expect(await card.transmit(select)).toEqual(Uint8Array.of(number, ...ok))
      presented.remove()
      await card.removed()
      expect((await events.next('card-removed')).reader).toBe(pcscd.readers[0])
    }
    events.stop()
    expect(await events.ended()).toBe(true)
  })

  test('work side by side', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    await Promise.all([pcscd.present(0, numbered(1)), pcscd.present(1, numbered(2))])
    const [left, right] = await Promise.all(
      pcscd.readers.map((reader) => readers.waitForCard({ reader, timeoutMs: 5_000 })),
    )
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, round) => round)
        .flatMap(() => [left, right])
        .map((card) => card?.transmit(select)),
    )
    expect(answers).toEqual(
      Array.from({ length: 20 }, () => [numbered(1), numbered(2)].map((chip) => chip.transmit())).flat(),
    )
  })

  test('say at once that there is none, or none of that name', async (t) => {
    const empty = await openPcscd(t, { readers: false })
    const none = openReaders(t, { backend, env: empty.env })
    expect(await none.list()).toEqual([])
    await expect(none.waitForCard()).rejects.toThrow(NoReader)

    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const refusal = readers.waitForCard({ reader: 'Other' })
    await expect(refusal).rejects.toThrow(NoReader)
    await expect(refusal).rejects.toMatchObject({ advice: `Readers: ${pcscd.readers.join(', ')}` })
  })

  test('say what is wrong with a card that does not answer', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const events = follow(t, readers)
    await pcscd.present(0, echo, new Uint8Array(40))
    expect(await events.next('card-unusable')).toMatchObject({
      reader: pcscd.readers[0],
      why: { state: 'mute' },
    })
    await expect(readers.waitForCard({ timeoutMs: 1 })).rejects.toMatchObject({
      name: 'NoCard',
      state: 'mute',
    })
  })

  test('wait for a card that another program holds, and let others have theirs', async (t) => {
    const pcscd = await openPcscd(t)
    const [reader] = pcscd.readers
    const readers = openReaders(t, { backend, env: pcscd.env })
    await pcscd.present(0, echo)
    const card = await readers.waitForCard()
    await card.release()
    await card.release()
    await expect(card.transmit(select)).rejects.toThrow('was released')

    const { letGo, pid } = await holdElsewhere(t, pcscd, reader)
    const inUse = { state: 'in-use', advice: expect.stringContaining(`Close node (pid ${pid}), or`) }
    await expect(readers.waitForCard({ timeoutMs: 400 })).rejects.toMatchObject({ name: 'NoCard', ...inUse })
    const events = follow(t, readers)
    expect((await events.next('card-unusable')).why).toMatchObject(inUse)
    await letGo()
    const again = (await events.next('card')).card
    expect(again).not.toBe(card)
    expect(await again.transmit(select)).toEqual(Uint8Array.of(...select, ...ok))
    // Now it is ours, and the other waits.
    const other = openReaders(t, { backend, env: pcscd.env })
    await expect(other.waitForCard({ timeoutMs: 300 })).rejects.toMatchObject({ state: 'in-use' })
    // Our children stand for us.
    const users = await readerUsers(pcscd.env, [])
    expect(users.map((user) => user.pid)).toEqual([process.pid])
    const waiting = other.waitForCard()
    await again.release()
    expect((await waiting).reader).toBe(reader)
  })

  test('leave the cards alone that nobody asked for', async (t) => {
    const pcscd = await openPcscd(t)
    const [mine, theirs] = pcscd.readers
    await Promise.all([pcscd.present(0, numbered(1)), pcscd.present(1, numbered(2))])
    const readers = openReaders(t, { backend, env: pcscd.env })
    const events = follow(t, readers, ({ name }) => name === mine)
    const { card } = await events.next('card')
    await holdElsewhere(t, pcscd, theirs)
    expect(await card.transmit(select)).toEqual(Uint8Array.of(1, ...ok))
    await card.release()
  })

  test('sound their own buzzer where they are known to have one, and are no worse for it', async (t) => {
    const got: string[] = []
    const heard = (apdu: Uint8Array) => {
      got.push(Buffer.from(apdu).toString('hex'))
      return ok
    }
    const pcscd = await openPcscd(t, {
      readers: 4,
      names: ['ACS ACR122U PICC Interface', 'ACS ACR1252 Dual Reader'],
    })
    const readers = openReaders(t, { backend, env: pcscd.env })
    for (const reader of [pcscd.readers[0], pcscd.readers[2]]) {
      await pcscd.present(pcscd.readers.indexOf(reader ?? ''), { transmit: heard })
      const card = await readers.waitForCard({ reader: reader ?? '' })
      await card.signal('done')
      await card.signal('failed')
      // The virtual reader takes no escape commands: that ends nothing.
      expect(await card.transmit(select)).toEqual(ok)
      await card.release()
      await card.signal('done')
    }
    const sent = Buffer.from(select).toString('hex')
    expect(got).toEqual(['ff0040ae0401010101', 'ff00405d0401010201', sent, sent])
  })

  test('can be waited for until the time is up, or nobody wants to any more', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    await expect(readers.waitForCard({ timeoutMs: 1 })).rejects.toMatchObject({
      name: 'NoCard',
      state: 'empty',
    })
    const stop = new AbortController()
    const waiting = readers.waitForCard({ signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    const events = follow(t, readers)
    await events.next('reader-added')
    await readers.close()
    await expect(readers.list()).rejects.toThrow('closed')
  })

  test('cost little on top of the card', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    await pcscd.present(0, echo)
    const card = await readers.waitForCard()
    const took: number[] = []
    for (let round = 0; round < 200; round++) {
      const begun = performance.now()
      await card.transmit(select)
      took.push(performance.now() - begun)
    }
    took.sort((a, b) => a - b)
    const [quick = 0, median = 0, slowest = 0] = [took[20], took[100], took[198]]
    console.log(
      `${backend}: ${median.toFixed(2)} ms a command, ${slowest.toFixed(2)} ms at the 99th percentile`,
    )
    // What we add is added to each command; a busy machine spares some.
    expect(quick).toBeLessThan(20)
  })
})
