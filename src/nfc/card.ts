// The port to hardware, implemented by PC/SC (pcsc/) and by virtual chips (emulator/). It does not depend on the kind
// of chip.

/** `in-use`: another program uses the card exclusively. `mute`: two cards at once, a misplaced card, or no NFC chip. */
export type ReaderState = 'empty' | 'present' | 'in-use' | 'mute'

export interface CardReader {
  /** PC/SC's name, such as `ACS ACR122U PICC Interface 00 00`. Unique among the current readers. */
  readonly name: string
  readonly state: ReaderState
  /** It is a slot for cards with contacts, by its name or by the card in it: no chip is ever there. */
  readonly isContact: boolean
}

/** A card that was presented and answered. A card that is lifted and put back is a new `Card`. */
export interface Card {
  /** The reader's name. */
  readonly reader: string
  readonly atr: Uint8Array
  /**
   * Sends one command APDU and returns the answer with its two status bytes. Await it before the next call.
   * @throws CardGone when no complete answer came, or ReaderUnavailable when the reader or its service disappeared: in
   * both cases the chip may or may not have carried out the command
   */
  transmit(apdu: Uint8Array): Promise<Uint8Array>
  /** Resolves once the card has left its reader, or the reader was unplugged. */
  removed(options?: { readonly signal?: AbortSignal }): Promise<void>
  /**
   * Sounds the reader's own buzzer and LED where it has them, as well as it can: nothing depends on it, and it never
   * throws. Only before `release`.
   */
  signal(outcome: Outcome): Promise<void>
  /**
   * Disconnects, so that other programs can use the card, which stays present: until then it is ours alone. Idempotent.
   */
  release(): Promise<void>
}

export type Outcome = 'done' | 'failed'

/** A stream of events begins with the readers and cards that are already there. */
export type ReaderEvent =
  | { readonly type: 'reader-added'; readonly reader: string }
  | { readonly type: 'reader-removed'; readonly reader: string }
  | { readonly type: 'card'; readonly reader: string; readonly card: Card }
  | { readonly type: 'card-removed'; readonly reader: string }
  /** Something for the person to do, told once a card. It is announced as soon as it can be used. */
  | { readonly type: 'card-unusable'; readonly reader: string; readonly why: NoCard }
  /** The service behind the readers is gone and retried; when it is back, its readers are added again. */
  | { readonly type: 'unavailable'; readonly error: ReaderUnavailable }

/** Only these readers are connected to. Default: all. Also asked of a card that turns out to have contacts. */
export type ReaderFilter = (reader: Pick<CardReader, 'name' | 'isContact'>) => boolean

export interface WaitForCard {
  /** A reader's name. Default: the first reader with a card. */
  readonly reader?: string
  readonly readers?: ReaderFilter
  /** Something for the person to do while the wait goes on, told once a card. */
  readonly onUnusable?: (why: NoCard, reader: string) => void
  /** Default: no timeout. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export interface WatchOptions {
  readonly signal?: AbortSignal
  readonly readers?: ReaderFilter
}

/** The readers of this computer. */
export interface CardReaders {
  /** @throws ReaderUnavailable */
  list(): Promise<readonly CardReader[]>
  /**
   * Returns the card on a reader, or the next one that is put there. A card that is still there is returned again:
   * await `card.removed()` before waiting for another.
   * @throws NoReader at once when there is none, or none of that name; NoCard after the timeout; ReaderUnavailable; the
   * signal's reason
   */
  waitForCard(wait?: WaitForCard): Promise<Card>
  /** Ends when the signal is aborted. @throws ReaderUnavailable only at the start */
  events(options?: WatchOptions): AsyncIterable<ReaderEvent>
  /** Ends all processes, sockets, and timers. */
  close(): Promise<void>
}

/** A card or reader cannot be used. */
export abstract class CardError extends Error {
  /** The next step for the user, as a sentence without a full stop. */
  readonly advice: string

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.advice = advice
  }
}

export class NoReader extends CardError {
  /** @param present names; without a reader's name, they are slots for cards with contacts, and not waited at */
  constructor(
    name?: string,
    present: readonly string[] = [],
    plugIn = 'Plug one in, or use --reader emulator',
  ) {
    const listed = present.join(', ')
    if (name === undefined && present.length > 0)
      super(
        `There is no NFC reader, only a slot for cards with contacts: ${listed}`,
        `Plug an NFC reader in. If it is one all the same: --reader ${JSON.stringify(present[0])}`,
      )
    else if (name === undefined) super('There is no NFC reader', plugIn)
    else
      super(`There is no reader named ${JSON.stringify(name)}`, listed === '' ? plugIn : `Readers: ${listed}`)
  }
}

/** A program that uses the readers of this computer, and so may be the one that holds a card. */
export interface ReaderUser {
  readonly name: string
  readonly pid: number
}

/** No usable card was on a reader before the timeout, or the one there cannot be used yet. */
export class NoCard extends CardError {
  readonly state: Exclude<ReaderState, 'present'>

  /** @param users for `in-use`: what to close, as far as it is known */
  constructor(state: Exclude<ReaderState, 'present'> = 'empty', users: readonly ReaderUser[] = []) {
    super(noCard[state].message, state === 'in-use' ? closeWhat(users) : noCard[state].advice)
    this.state = state
  }
}

const noCard = {
  empty: {
    message: 'No card was put on the reader',
    advice: 'Lay the card flat on the reader and keep it there',
  },
  'in-use': { message: 'Another program is using the card' },
  mute: {
    message: 'The card on the reader does not respond',
    advice: 'Lay a single card flat on the middle of the reader, with no metal beneath it',
  },
} as const

function closeWhat(users: readonly ReaderUser[]): string {
  const named = users.map(({ name, pid }) => `${name} (pid ${pid})`).join(' or ')
  const what = named === '' ? 'other programs that use the reader' : `${named}, or what else uses the reader`
  return `Close ${what}. The card can stay where it is`
}

/** The card left the reader during a command, which the chip may or may not have carried out. */
export class CardGone extends CardError {
  constructor(options?: ErrorOptions) {
    super(
      'The card left the reader before it answered',
      'Put the same card back, and leave it there until the command says that it is done',
      options,
    )
  }
}

/** The service is not running, permission is missing, or a driver died. */
export class ReaderUnavailable extends CardError {}
