// The port to hardware: a reader with a card on it, and the bytes that go there and back. Behind it stand PC/SC
// (pcsc/) and the virtual chips (emulator/). Nothing here knows what kind of chip a card is.

/**
 * What a reader has: nothing, a card, a card that another program holds for itself, or something that does not
 * answer (two cards at once, a card turned wrongly, no NFC chip).
 */
export type ReaderState = 'empty' | 'present' | 'in-use' | 'mute'

export interface CardReader {
  /** As PC/SC names it: `ACS ACR122U PICC Interface 00 00`. Unique among the readers of a moment. */
  readonly name: string
  readonly state: ReaderState
}

/** A card that was presented and answered. One that is lifted and put back is another `Card`. */
export interface Card {
  /** The name of the reader it lies on. */
  readonly reader: string
  readonly atr: Uint8Array
  /**
   * Sends one command APDU; the answer with its two status bytes. One at a time: await it before the next.
   * @throws CardGone when no whole answer came, in which case the chip may or may not have done what it was told;
   * ReaderUnavailable when the reader or its service went away, for which the same is true
   */
  transmit(apdu: Uint8Array): Promise<Uint8Array>
  /** Resolves once the card has left its reader, or the reader the computer; at once when it has already. */
  removed(options?: { readonly signal?: AbortSignal }): Promise<void>
  /** Lets go of the card, so that other programs may have it. It stays present. Harmless when repeated. */
  release(): Promise<void>
}

/** What happens at the readers, in order. A stream begins with the readers and cards that are there already. */
export type ReaderEvent =
  | { readonly type: 'reader-added'; readonly reader: string }
  | { readonly type: 'reader-removed'; readonly reader: string }
  | { readonly type: 'card'; readonly reader: string; readonly card: Card }
  | { readonly type: 'card-removed'; readonly reader: string }
  /** Something that cannot be talked to was put down; tell the person with the card. */
  | { readonly type: 'card-unusable'; readonly reader: string; readonly state: 'in-use' | 'mute' }
  /** The service behind the readers is gone, and is tried again; when it is back its readers are added again. */
  | { readonly type: 'unavailable'; readonly error: ReaderUnavailable }

export interface WaitForCard {
  /** A reader's name; without it, whichever reader has a card first. */
  readonly reader?: string
  /** Default: for ever. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** The readers of this computer. */
export interface CardReaders {
  /** @throws ReaderUnavailable when they cannot be asked for. No reader is an empty list. */
  list(): Promise<readonly CardReader[]>
  /**
   * The card that lies on a reader, or the next one that is put there. A card that lies there still is given again:
   * await `card.removed()` before waiting for another.
   * @throws NoReader at once when there is none, or none of that name; NoCard when the time is up;
   * ReaderUnavailable; what the signal was aborted with
   */
  waitForCard(wait?: WaitForCard): Promise<Card>
  /** Ends when the signal is aborted. @throws ReaderUnavailable only when it is so from the start */
  events(options?: { readonly signal?: AbortSignal }): AsyncIterable<ReaderEvent>
  /** Lets go of all of it: processes, sockets, timers. */
  close(): Promise<void>
}

/** What stands between this program and a card, by class. The message says what, `advice` what to do. */
export abstract class CardError extends Error {
  readonly advice: string

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.advice = advice
  }
}

/** No reader is plugged in, or none of the name that was asked for. */
export class NoReader extends CardError {
  constructor(wanted?: string, present: readonly string[] = []) {
    super(
      wanted === undefined ? 'There is no NFC reader' : `There is no reader named ${JSON.stringify(wanted)}`,
      wanted === undefined || present.length === 0
        ? 'Plug one in, or use --reader emulator'
        : `Readers: ${present.join(', ')}`,
    )
  }
}

/** The time was up before a card that can be talked to lay on a reader. */
export class NoCard extends CardError {
  /** What the reader had instead. */
  readonly state: Exclude<ReaderState, 'present'>

  constructor(state: Exclude<ReaderState, 'present'> = 'empty') {
    const { what, advice } = noCard[state]
    super(what, advice)
    this.state = state
  }
}

const noCard = {
  empty: {
    what: 'No card was put on the reader',
    advice: 'Lay the card flat on the reader and keep it there',
  },
  'in-use': {
    what: 'Another program holds the card',
    advice: 'Close what else talks to the reader, and lay the card down again',
  },
  mute: {
    what: 'The card on the reader does not answer',
    advice: 'Lay down one card alone, flat and in the middle of the reader, without metal beneath',
  },
} as const

/** The card left the reader's field while a command was under way: whether it was carried out is not known. */
export class CardGone extends CardError {
  constructor(options?: ErrorOptions) {
    super(
      'The card left the reader before it had answered',
      'Lay the same card down again and leave it there until the command says that it is done',
      options,
    )
  }
}

/** The readers cannot be reached: their service does not run, no permission, or a driver that died. */
export class ReaderUnavailable extends CardError {}
