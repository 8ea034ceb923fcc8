import { describe, expect, test } from 'vitest'
import { type Card, type ReaderEvent, ReaderUnavailable } from '../../src/nfc/card.ts'
import { type Backend, PcscError } from '../../src/nfc/pcsc/backend.ts'
import { CardWatch, type ConnectResult } from '../../src/nfc/pcsc/card-watch.ts'
import { Connections } from '../../src/nfc/pcsc/connections.ts'
import type { ReaderSnapshot } from '../../src/nfc/pcsc/protocol.ts'
import { signalOf } from '../../src/nfc/pcsc/reader-signals.ts'
import { ReaderTable } from '../../src/nfc/pcsc/reader-table.ts'

// What virtual readers cannot do: be pulled out while pcscd goes on, or have their card swapped between two looks.

const cardOn = (reader: string): Card => ({
  reader,
  atr: new Uint8Array(),
  transmit: () => Promise.reject(new Error('not asked')),
  removed: () => Promise.resolve(),
  signal: () => Promise.resolve(),
  release: () => Promise.resolve(),
})
const at = (name: string, presence: number, state: ReaderSnapshot['state'] = 'present'): ReaderSnapshot => ({
  name,
  presence,
  state: presence === 0 ? 'empty' : state,
  ...{ isContact: false, hasContactCard: false },
})
/** Until all that was promised has been kept. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

function watch(
  connect: (at: ReaderSnapshot) => Promise<ConnectResult>,
  wanted?: string,
  patience = { 'in-use': 0, mute: 0 },
) {
  const events: string[] = []
  const emit = (event: ReaderEvent) =>
    events.push(
      event.type === 'unavailable'
        ? event.type
        : event.type === 'card-unusable'
          ? `${event.type} ${event.reader}: ${event.why.advice}`
          : `${event.type} ${event.reader}`,
    )
  const options = {
    readers: ({ name, isContact }: { name: string; isContact: boolean }) =>
      wanted === undefined ? !isContact : name === wanted,
    users: async () => [{ name: 'poller', pid: 7 }],
    patience,
  }
  return { events, watch: new CardWatch({ ...options, connect, emit }) }
}
const connects = async ({ name }: ReaderSnapshot): Promise<ConnectResult> => ({
  status: 'card',
  card: cardOn(name),
  isNew: true,
})

describe('a card with contacts', () => {
  const contacts = { ...cardOn('A'), atr: Buffer.from('3B6E0000', 'hex') }
  const connectTo =
    (seen: string[]) =>
    async ({ name }: ReaderSnapshot): Promise<ConnectResult> => {
      seen.push(name)
      return {
        ...{ status: 'card', isNew: true },
        card: { ...contacts, release: async () => void seen.push('released') },
      }
    }

  test('is not connected to where the service tells of it, and let go of where it does not', async () => {
    const seen: string[] = []
    const { events, watch: watching } = watch(connectTo(seen))
    watching.update([{ ...at('A', 1), hasContactCard: true }])
    await settled()
    expect([seen, events]).toEqual([[], []])
    watching.update([at('A', 0)])
    watching.update([{ ...at('A', 1), hasContactCard: true }])
    await settled()
    expect([seen, events]).toEqual([[], ['reader-added A']])
    watching.update([at('A', 2)])
    await settled()
    watching.update([at('A', 2)])
    await settled()
    expect(seen).toEqual(['A', 'released'])
    expect(events).toEqual(['reader-added A'])
    watching.stop()
  })

  test('is given to who names its reader', async () => {
    const seen: string[] = []
    const { events, watch: watching } = watch(connectTo(seen), 'A')
    watching.update([{ ...at('A', 1), isContact: true, hasContactCard: true }])
    await settled()
    expect(events).toEqual(['reader-added A', 'card A'])
    watching.stop()
  })
})

describe('what is told of readers', () => {
  test('one that is pulled out takes its card along, and the others go on', async () => {
    const { events, watch: watching } = watch(connects)
    watching.update([at('A', 1), at('B', 0)])
    await settled()
    watching.update([at('B', 0)])
    watching.update([at('B', 2)])
    await settled()
    watching.update([at('A', 0), at('B', 2)])
    expect(events).toEqual([
      'reader-added A',
      'reader-added B',
      'card A',
      'card-removed A',
      'reader-removed A',
      'card B',
      'reader-added A',
    ])
  })

  test('a card that left while it was connected to is not told of', async () => {
    const { events, watch: watching } = watch(connects)
    watching.update([at('A', 1)])
    watching.update([at('A', 0)])
    await settled()
    expect(events).toEqual(['reader-added A'])
  })

  test('a card in place of another is another one', async () => {
    const { events, watch: watching } = watch(connects)
    watching.update([at('A', 1)])
    await settled()
    watching.update([at('A', 2)])
    await settled()
    expect(events).toEqual(['reader-added A', 'card A', 'card-removed A', 'card A'])
  })

  test('an outage takes all of it away', async () => {
    const { events, watch: watching } = watch(connects)
    watching.update([at('A', 1), at('B', 0)])
    await settled()
    watching.down(new ReaderUnavailable('gone', 'wait'))
    expect(events.slice(3)).toEqual(['card-removed A', 'reader-removed A', 'reader-removed B', 'unavailable'])
  })

  test('a reader that nobody asked for is left alone', async () => {
    const asked: string[] = []
    const { events, watch: watching } = watch((reader) => {
      asked.push(reader.name)
      return connects(reader)
    }, 'B')
    watching.update([at('A', 1), at('B', 2)])
    await settled()
    expect([asked, events]).toEqual([['B'], ['reader-added B', 'card B']])
  })

  test('a complaint is made once, and names what to close; the card is tried until it is let go', async () => {
    let refusals = 0
    const { events, watch: watching } = watch(async (at) =>
      ++refusals < 5 ? { status: 'refused', why: 'in-use' } : connects(at),
    )
    watching.update([at('A', 1)])
    watching.update([at('A', 1, 'in-use')])
    watching.update([at('A', 1, 'in-use')])
    await expect.poll(() => events.at(-1)).toBe('card A')
    watching.stop()
    expect(events).toEqual([
      'reader-added A',
      'card-unusable A: Close poller (pid 7), or what else uses the reader. The card can stay where it is',
      'card A',
    ])
  })

  test('a collision with a program that polls is not worth a word', async () => {
    let refusals = 0
    const { events, watch: watching } = watch(
      async (at) => (++refusals < 3 ? { status: 'refused', why: 'in-use' } : connects(at)),
      undefined,
      { 'in-use': 60_000, mute: 0 },
    )
    watching.update([at('A', 1)])
    await expect.poll(() => events).toEqual(['reader-added A', 'card A'])
  })

  test('a card that nobody was told of is let go', async () => {
    let released = 0
    const release = async () => {
      released += 1
    }
    const { events, watch: watching } = watch(async ({ name }) => ({
      status: 'card',
      card: { ...cardOn(name), release },
      isNew: true,
    }))
    watching.update([at('A', 1)])
    watching.stop()
    await settled()
    expect([events, released]).toEqual([['reader-added A'], 1])
  })
})

describe('connections', () => {
  const present = 0x20022
  /** A backend whose readers cannot be disconnected from once they are pulled out. */
  const pulled = new Set<string>()
  const backend: Backend = {
    name: 'pcsc-mini',
    connect: async (reader) => ({
      atr: new Uint8Array(),
      transmit: async () => {
        if (pulled.has(reader)) throw new PcscError('gone', 'unplugged')
        return Uint8Array.of(0x90, 0)
      },
      control: async () => undefined,
      disconnect: async () => {
        if (pulled.has(reader)) throw new Error('invalid handle')
      },
    }),
  }

  test('a reader that is pulled out in the middle of a command ends nothing on the others', async () => {
    const table = new ReaderTable()
    const connections = new Connections(table)
    for (const name of ['A', 'B']) table.status(name, present)
    const on = (reader: string) => ({ reader, presence: table.presence(reader) })
    const [a, b] = [on('A'), on('B')]
    await connections.connect(backend, a)
    await connections.connect(backend, b)
    pulled.add('A')
    await expect(connections.transmit(a, Uint8Array.of(0))).rejects.toThrow(PcscError)
    // A handle that could not be closed is not trusted, until PC/SC says that the reader went.
    await expect(connections.connect(backend, a)).rejects.not.toThrow(PcscError)
    table.removed('A')
    await connections.changed('A')
    expect(await connections.transmit(b, Uint8Array.of(0))).toEqual(Uint8Array.of(0x90, 0))

    pulled.delete('A')
    table.status('A', present)
    await connections.connect(backend, on('A'))
    expect(await connections.transmit(on('A'), Uint8Array.of(0))).toEqual(Uint8Array.of(0x90, 0))
    // Our own card is no other program's.
    table.status('A', present | 0x80)
    expect(table.snapshot().map((at) => connections.describe(at).state)).toEqual(['present', 'present'])
    await connections.release(on('A'))
    expect(table.snapshot().map((at) => connections.describe(at).state)).toEqual(['in-use', 'present'])
  })
})

test('the signals of readers that take escape commands', () => {
  const commands = (outcome: 'done' | 'failed') =>
    signalOf('ACS ACR1252 1S CL Reader [ACR1252 Dual Reader PICC] 00 00', outcome).map((step) =>
      'command' in step ? Buffer.from(step.command).toString('hex') : step,
    )
  expect(commands('done')).toEqual(['e00000290102', 'e0000028010a'])
  expect(commands('failed')).toEqual(['e00000290101', 'e0000028010a', { pauseMs: 200 }, 'e0000028010a'])
  expect(signalOf('Identiv uTrust 3700 F CL Reader 00 00', 'done')).toEqual([])
})

describe("PC/SC's bits", () => {
  const present = 0x22
  const counted = (count: number, bits: number) => count * 0x10000 + bits

  test('are the four states of a reader', () => {
    const table = new ReaderTable()
    for (const [name, bits] of Object.entries({ a: 0x12, b: 0x22, c: 0xa2, d: 0x222 }))
      table.status(name, bits)
    expect(table.snapshot().map(({ state }) => state)).toEqual(['empty', 'present', 'in-use', 'mute'])
  })

  test('tell a card that was swapped between two looks from one that lies there still', () => {
    const table = new ReaderTable()
    table.status('A', counted(1, present))
    const first = table.presence('A')
    table.status('A', counted(1, present | 0x100))
    expect(table.presence('A')).toBe(first)
    table.status('A', counted(3, present))
    expect(table.presence('A')).toBeGreaterThan(first)
    table.status('A', counted(4, 0x12))
    expect(table.presence('A')).toBe(0)
  })
})
