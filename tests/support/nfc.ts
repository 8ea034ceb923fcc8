import type { OpenedReaders } from '../../src/cli/nfc/readers.ts'
import type { Stop } from '../../src/cli/nfc/stop.ts'
import {
  type Card,
  CardGone,
  type CardReader,
  type CardReaders,
  NoCard,
  type ReaderEvent,
  type WaitForCard,
} from '../../src/nfc/card.ts'
import { EmulatedCard, type TearOff } from '../../src/nfc/emulator/card.ts'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript, transmitAll } from '../../src/nfc/script.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import type { AdminApp, Answered } from './admin.ts'
import { acmeKey, otherKey } from './seeds.ts'

/** Key sets that can set chips up. */
export const keySets = {
  a: {
    id: 201,
    metaReadKey: '1d3c5b7a99f8e7d6c5b4a39281706f5e',
    fileReadKey: '2e4d6c8baa09f8e7d6c5b4a392817060',
    appMasterKey: '3f5e7d9cbb1a09f8e7d6c5b4a3928171',
    diversification: 'an10922',
    systemIdentifier: '54617063686970',
    macInputFrom: 'd',
  },
  b: {
    id: 202,
    metaReadKey: '406f8eadcc2b1a09f8e7d6c5b4a39282',
    fileReadKey: '51809fbedd3c2b1a09f8e7d6c5b4a393',
    appMasterKey: '6291a0cfee4d3c2b1a09f8e7d6c5b4a4',
    diversification: 'an10922',
    macInputFrom: 'e',
    parameters: { e: 'picc', c: 'mac', d: 'set' },
  },
  one: {
    id: 203,
    metaReadKey: '73a2b1d0ff5e4d3c2b1a09f8e7d6c5b5',
    fileReadKey: '84b3c2e1006f5e4d3c2b1a09f8e7d6c6',
    appMasterKey: '95c4d3f211806f5e4d3c2b1a09f8e7d7',
    diversification: 'none',
    macInputFrom: 'd',
  },
  verifying: {
    id: 204,
    metaReadKey: 'a6d5e40322918f6e5d4c3b2a190807e8',
    fileReadKey: 'b7e6f51433a2907f6e5d4c3b2a1908f9',
    diversification: 'an10922',
    macInputFrom: 'd',
  },
} as const

/** Every key that must never be seen outside, in hex. */
export const masterKeys: readonly string[] = Object.values(keySets).flatMap((set) =>
  Object.entries(set).flatMap(([name, value]) => (name.endsWith('Key') ? [String(value)] : [])),
)

export const nfcSeed = {
  version: 1,
  keySets: Object.values(keySets),
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      items: [
        {
          id: 'jacket',
          name: 'Jacket',
          variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
          attributes: [{ name: 'Size', values: ['S'] }],
        },
      ],
      chipGroups: [{ name: 'Jackets', chips: [] }],
    },
    { name: 'Other', apiKeys: [{ name: 'other', key: otherKey }] },
  ],
}

let made = 0

/** A blank chip of a UID of its own that can be put down again and again. */
export class Chip {
  readonly chip: VirtualNtag424

  constructor(uid?: Buffer, variant: Parameters<typeof factoryMemory>[1] = {}) {
    made += 1
    const number = Buffer.alloc(4)
    number.writeUInt32BE(made)
    this.chip = new VirtualNtag424(
      factoryMemory(uid ?? Buffer.concat([Buffer.from('04AB00', 'hex'), number]), variant),
    )
  }

  /** Decimal. */
  get uid(): string {
    return uidFromBytes(this.chip.memory.uid)
  }

  get versions(): number[] {
    return this.chip.memory.keys.map(({ version }) => version)
  }

  /** All keys it has, in hex. */
  get keys(): string[] {
    return this.chip.memory.keys.map(({ key }) => key.toString('hex'))
  }

  get failedAuthentications(): number {
    return this.chip.memory.failedAuthentications
  }

  put(tear?: TearOff): EmulatedCard {
    return new EmulatedCard('test', this.chip, tear ? { tear } : {})
  }

  /** The URL of its next tap, as a phone reads it. */
  async tap(): Promise<string> {
    const card = this.put()
    const { url } = await runScript(card, readTap())
    card.lift()
    return url ?? ''
  }

  async tapPath(path = '/t'): Promise<string> {
    return path + new URL(await this.tap()).search
  }
}

export interface Ended {
  status: string
  uid: string | null
  keySet: number | null
  url: string | null
  code?: string
  error?: string
  warning?: string
  row?: number
  sheet?: { rows: number; taken: number }
}

/** Calls an endpoint; as AdminApp has it. */
export type Call = AdminApp['call']

/** Carries APDUs between a card and the daemon until it says how it ended, or the card is gone. */
export async function talk(
  call: Call,
  card: EmulatedCard,
  body: Record<string, unknown>,
  {
    headers,
    onStep,
    onInspected,
  }: {
    headers?: Record<string, string>
    onStep?: (answer: Answered) => Promise<void> | void
    /** The details that it gets; asked again for as long as it is inspected. */
    onInspected?: (next: Answered['body']) => object | Promise<object>
  } = {},
): Promise<Ended> {
  const atr = Buffer.from(card.atr).toString('hex')
  let answered = await call('POST /admin/nfc/sessions', { atr, ...body }, headers)
  for (;;) {
    if (answered.status !== 200) throw new Error(`${answered.status}: ${answered.text}`)
    const { id, step, next } = answered.body
    if (next.type === 'ended') return next.outcome
    await onStep?.(answered)
    if (next.type === 'inspected' && onInspected) {
      const details = await onInspected(next)
      answered = await call(`POST /admin/nfc/sessions/${id}/answers`, { step, details }, headers)
      continue
    }
    if (next.type !== 'apdus') throw new Error('Nobody said what the chip is to get')
    let answers: string[]
    try {
      answers = await answersOf(card, next.apdus)
    } catch (error) {
      if (error instanceof CardGone) await call(`DELETE /admin/nfc/sessions/${id}`, undefined, headers)
      throw error
    }
    answered = await call(`POST /admin/nfc/sessions/${id}/answers`, { step, answers }, headers)
  }
}

/** A card's answers to a burst, as they travel. */
export const answersOf = async (card: EmulatedCard, apdus: readonly string[]): Promise<string[]> => {
  const burst = apdus.map((apdu) => Buffer.from(apdu, 'hex'))
  return (await transmitAll(card, burst)).map((one) => Buffer.from(one).toString('hex'))
}

export const inA = {
  purpose: 'provision',
  team: 'Acme',
  keySet: keySets.a.id,
  chipGroup: 'Jackets',
  acceptUrl: true,
  originality: 'emulated',
} as const

/** A reader on which chips are laid down one after another, each as often as it stands there. */
export class ScriptedReaders implements CardReaders {
  readonly #script: { chip: Chip; tear?: TearOff }[]
  #card: EmulatedCard | undefined
  readonly #onPut: (left: number) => void

  constructor(
    script: readonly (Chip | { chip: Chip; tear: TearOff })[],
    onPut: (left: number) => void = () => {},
  ) {
    this.#script = script.map((one) => (one instanceof Chip ? { chip: one } : one))
    this.#onPut = onPut
  }

  async list(): Promise<readonly CardReader[]> {
    const state = this.#script.length > 0 || this.#card?.present ? 'present' : 'empty'
    return [{ name: 'test', state, isContact: false }]
  }

  async waitForCard({ signal }: WaitForCard = {}): Promise<Card> {
    signal?.throwIfAborted()
    if (this.#card?.present) return this.#card
    const next = this.#script.shift()
    if (!next) throw new NoCard()
    this.#onPut(this.#script.length)
    signal?.throwIfAborted()
    this.#card = next.chip.put(next.tear)
    return this.#card
  }

  async *events(): AsyncGenerator<ReaderEvent, void, void> {}

  async close(): Promise<void> {
    this.#card?.lift()
  }
}

/** Readers as commands open them. */
export const openedOn = (all: CardReaders): OpenedReaders => ({
  isEmulator: false,
  all,
  fields: async () => () => true,
  nextCard: (wait = {}) => all.waitForCard(wait),
})

/** Never interrupted. */
export const noStop = (): Stop => ({
  now: new AbortController().signal,
  late: new AbortController().signal,
  alive: () => undefined,
})
