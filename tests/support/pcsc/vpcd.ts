import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { VirtualChip } from '../../../src/nfc/emulator/card.ts'

/** What lies on a virtual reader: the emulator of a chip, or a few lines in a test. */
export interface Chip {
  /** The field came up, or was reset: whatever was authenticated is so no longer. */
  reset?(): void
  /** The reader looks whether it is there still, which pcscd has it do all the time; it sees it once this resolves. */
  seen?(): Promise<void> | void
  /** `undefined`: it was lifted in the middle of this command. */
  transmit(apdu: Uint8Array): Promise<Uint8Array | undefined> | Uint8Array | undefined
}

/** A chip of the emulator, as one that lies on a reader. */
export const emulated = (chip: VirtualChip): Chip => ({
  reset: () => chip.powerOff(),
  transmit: (apdu) => chip.process(apdu),
})

/** A chip whose every command takes a while, as over a real field. */
export const delayed = (chip: Chip, ms: number): Chip => ({
  reset: () => chip.reset?.(),
  transmit: async (apdu) => {
    await delay(ms)
    return chip.transmit(apdu)
  },
})

export interface PresentedCard {
  /** Lifts it. */
  remove(): void
  /** Whether the reader has powered it up. */
  readonly powered: Promise<void>
  /** Resolves when it is out of the field, by whatever cause. */
  readonly removed: Promise<void>
}

/** What an NTAG 424 DNA answers over PC/SC (type 4, no historical bytes). */
const defaultAtr = Uint8Array.of(0x3b, 0x81, 0x80, 0x01, 0x80, 0x80)

/** Puts a card on a virtual reader of vsmartcard: the socket leads there, and speaks its protocol. */
export async function presentCard(
  socketPath: string,
  chip: Chip,
  atr: Uint8Array = defaultAtr,
): Promise<PresentedCard> {
  const socket = connect(socketPath)
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  const removed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const powered = new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error('The card was out of the field before it was powered')))
    void serve(socket, chip, atr, resolve).catch((error: unknown) => socket.destroy(toError(error)))
  })
  powered.catch(() => undefined)
  return { remove: () => socket.destroy(), powered, removed }
}

async function serve(socket: Socket, chip: Chip, atr: Uint8Array, onPower: () => void): Promise<void> {
  let isPowered = false
  for await (const message of frames(socket)) {
    const [control] = message
    if (message.length !== 1 || control === undefined) {
      const answer = isPowered ? await chip.transmit(message) : new Uint8Array()
      if (answer === undefined) return void socket.destroy()
      send(socket, answer)
    } else if (control === 4) {
      await chip.seen?.()
      send(socket, atr)
    } else {
      // 0 power off, 1 power on, 2 reset: none of them is answered.
      chip.reset?.()
      isPowered = control !== 0
      if (isPowered) onPower()
    }
  }
}

/** A length of two bytes, the greater one first, and as many bytes. */
async function* frames(socket: Socket): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0)
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const end = 2 + rest.readUInt16BE(0)
      yield Uint8Array.from(rest.subarray(2, end))
      rest = rest.subarray(end)
    }
  }
}

function send(socket: Socket, payload: Uint8Array): void {
  if (socket.destroyed) return
  const length = Buffer.alloc(2)
  length.writeUInt16BE(payload.length)
  socket.write(Buffer.concat([length, payload]))
}

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
