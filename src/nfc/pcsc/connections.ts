import { KeyedMutex } from '../../values/semaphore.ts'
import { type Backend, type Connection, PcscError } from './backend.ts'
import type { ReaderSnapshot } from './protocol.ts'
import type { ReaderTable } from './reader-table.ts'

/** A card, by its reader and the number that it got when it was put there. */
export interface CardOnReader {
  readonly reader: string
  readonly presence: number
}

interface HeldConnection {
  readonly presence: number
  readonly connection: Connection
}

/** The cards that the child process is connected to: at most one a reader, and one command at a time each. */
export class Connections {
  readonly #table: ReaderTable
  readonly #connections = new Map<string, HeldConnection>()
  readonly #mutex = new KeyedMutex()
  /** Readers whose last disconnection failed, so that a new connection could be the old one. */
  readonly #unreliable = new Set<string>()

  constructor(table: ReaderTable) {
    this.#table = table
  }

  has({ reader, presence }: CardOnReader): boolean {
    return this.#connections.get(reader)?.presence === presence
  }

  /** PC/SC calls our own cards in use as well. */
  describe(at: ReaderSnapshot): ReaderSnapshot {
    const isOurs = at.state === 'in-use' && this.has({ reader: at.name, presence: at.presence })
    return isOurs ? { ...at, state: 'present' } : at
  }

  /** @returns the card's ATR @throws PcscError; another Error if the process cannot continue */
  connect(backend: Backend, { reader, presence }: CardOnReader): Promise<Uint8Array> {
    return this.#mutex.run(reader, async () => {
      await this.#drop(reader)
      if (presence === 0 || this.#table.presence(reader) !== presence)
        throw new PcscError('gone', 'The card left')
      if (this.#unreliable.has(reader)) throw new Error(`${reader} could not be disconnected from`)
      const connection = await backend.connect(reader)
      this.#connections.set(reader, { presence, connection })
      if (this.#table.presence(reader) === presence) return connection.atr
      await this.#drop(reader)
      throw new PcscError('gone', 'The card left')
    })
  }

  /** @throws PcscError, and the card is disconnected */
  transmit(card: CardOnReader, apdu: Uint8Array): Promise<Uint8Array> {
    return this.#mutex.run(card.reader, async () => {
      const connection = this.#connectionTo(card)
      try {
        const answer = await connection.transmit(apdu)
        // nfc-pcsc returns an empty answer for a card that left during the command.
        if (answer.length < 2) throw new PcscError('gone', 'The card did not answer')
        return answer
      } catch (error) {
        await this.#drop(card.reader)
        throw error
      }
    })
  }

  /** @throws PcscError, and the card stays connected */
  control(card: CardOnReader, command: Uint8Array): Promise<void> {
    return this.#mutex.run(card.reader, () => this.#connectionTo(card).control(command))
  }

  release(card: CardOnReader): Promise<void> {
    return this.#mutex.run(card.reader, async () => {
      if (this.has(card)) await this.#drop(card.reader)
    })
  }

  /** Lets go of a card that left. To be called after each change of the table. */
  changed(reader: string): Promise<void> {
    // A reader that is plugged in again is another one to PC/SC.
    if (!this.#table.has(reader)) this.#unreliable.delete(reader)
    return this.#mutex.run(reader, async () => {
      const connection = this.#connections.get(reader)
      if (connection !== undefined && connection.presence !== this.#table.presence(reader))
        await this.#drop(reader)
    })
  }

  #connectionTo(card: CardOnReader): Connection {
    const connection = this.#connections.get(card.reader)
    if (connection?.presence !== card.presence) throw new PcscError('gone', 'The card left')
    return connection.connection
  }

  /** Fails for a reader that was pulled out, which must not end the work on the others. */
  async #drop(reader: string): Promise<void> {
    const connection = this.#connections.get(reader)
    if (connection === undefined) return
    this.#connections.delete(reader)
    await connection.connection.disconnect().catch(() => {
      if (this.#table.has(reader)) this.#unreliable.add(reader)
    })
  }
}
