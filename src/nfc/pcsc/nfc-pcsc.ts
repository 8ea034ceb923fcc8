import type { Reader } from 'nfc-pcsc'
import {
  type Backend,
  type BackendEvents,
  type Connection,
  escapeCode,
  mayLosePower,
  missing,
  PcscError,
} from './backend.ts'
import type { Refusal } from './protocol.ts'

/**
 * @throws BackendMissing where it is not built.
 * `new NFC()` blocks while there is no service: the parent makes sure that there is one, and has a timeout.
 */
export async function openNfcPcsc(events: BackendEvents): Promise<Backend> {
  const { NFC } = await import('nfc-pcsc').catch(missing)
  const nfc = new NFC()
  const readers = new Map<string, Reader>()
  const atrs = new Map<string, Uint8Array>()
  const withoutStatus = new Set<string>()
  let listed = false
  const settle = () => {
    if (listed && withoutStatus.size === 0) events.settled()
  }

  // No event reports an empty list, so the listing call is intercepted. The library makes it one tick from now.
  const list = nfc.pcsc.start.bind(nfc.pcsc)
  nfc.pcsc.start = (onNames) =>
    list((error, names) => {
      onNames(error, names)
      listed = true
      settle()
    })

  nfc.on('error', events.failed)
  nfc.on('reader', (reader) => {
    const { name } = reader
    readers.set(name, reader)
    withoutStatus.add(name)
    // The library's own listener connects to every card and hides failures: it emits each error as an event named after
    // the error. Here, cards are connected to on demand.
    reader.reader.removeAllListeners('status')
    reader.reader.on('status', ({ state, atr }) => {
      atrs.set(name, atr ?? new Uint8Array())
      events.status(name, state, atr)
      if (withoutStatus.delete(name)) settle()
    })
    // The library does not take each way of saying so for a reader that was pulled out; its 'end' follows.
    reader.on('error', (error) => {
      if (!pulledOut.includes(codeOf(error.message))) events.failed(error)
    })
    reader.on('end', () => {
      readers.delete(name)
      if (withoutStatus.delete(name)) settle()
      events.removed(name)
    })
  })

  return {
    name: 'nfc-pcsc',
    async connect(name) {
      const reader = readers.get(name)
      if (reader === undefined) throw new PcscError('gone', `${name} is gone`)
      await connectExclusively(reader)
      // The library has no SCardReconnect. Right after us, hardly anybody else lets go again.
      const isFree = mayLosePower && (await reader.disconnect().catch(() => false))
      if (isFree) await connectExclusively(reader)
      return connectionTo(reader, atrs.get(name) ?? new Uint8Array())
    },
  }
}

/** Replaces the library's `connect`, which shares the card, and sets what its other functions require. */
async function connectExclusively(reader: Reader): Promise<void> {
  const low = reader.reader
  const options = { share_mode: low.SCARD_SHARE_EXCLUSIVE }
  const protocol = await new Promise<number>((resolve, reject) =>
    low.connect(options, (error, chosen) => (error ? reject(error) : resolve(chosen))),
  ).catch(translate)
  reader.connection = { type: options.share_mode, protocol }
  reader.card = {}
}

const connectionTo = (reader: Reader, atr: Uint8Array): Connection => ({
  atr,
  transmit: (apdu) => reader.transmit(Buffer.from(apdu), 258).catch(translate),
  control: (command) =>
    new Promise<void>((resolve, reject) =>
      reader.reader.control(Buffer.from(command), escapeCode, 64, (error) =>
        error ? reject(error) : resolve(),
      ),
    ).catch(translate),
  disconnect: async () => {
    reader.card = null
    if (reader.connection !== null) await reader.disconnect()
  },
})

/** The library gives the PC/SC code only in its message: `SCardConnect error: Card was removed.(0x80100069)`. */
function translate(error: unknown): never {
  const cause = error instanceof Error && 'previous' in error ? error.previous : error
  const message = cause instanceof Error ? cause.message : String(error)
  throw new PcscError(meanings[codeOf(message)] ?? 'gone', message, { cause: error })
}

const codeOf = (message: string): string => /\(0x([0-9a-f]{8})\)/i.exec(message)?.[1]?.toUpperCase() ?? ''

/** SCARD_E_UNKNOWN_READER, SCARD_E_READER_UNAVAILABLE. */
const pulledOut = ['80100009', '80100017']

/** Source: pcsclite.h. Any other code means that the card is gone. */
const meanings: Readonly<Record<string, Refusal>> = {
  '8010000B': 'in-use', // SCARD_E_SHARING_VIOLATION
  '8010000F': 'mute', // SCARD_E_PROTO_MISMATCH
  '80100065': 'mute', // SCARD_W_UNSUPPORTED_CARD
  '80100066': 'mute', // SCARD_W_UNRESPONSIVE_CARD
  '80100013': 'service', // SCARD_F_COMM_ERROR: the connection to the service broke
  '8010001D': 'service', // SCARD_E_NO_SERVICE
  '8010001E': 'service', // SCARD_E_SERVICE_STOPPED
}
