import type { Reader } from 'nfc-pcsc'
import { type Backend, type BackendEvents, type Connection, missing, PcscError } from './backend.ts'
import type { Refusal } from './protocol.ts'

/**
 * @throws BackendMissing where it is not built.
 * `new NFC()` does not return while there is no service: the parent makes sure that there is one, and watches the clock.
 */
export async function openNfcPcsc(events: BackendEvents): Promise<Backend> {
  const { NFC } = await import('nfc-pcsc').catch(missing)
  const nfc = new NFC()
  const readers = new Map<string, Reader>()
  const atrs = new Map<string, Uint8Array>()
  const silent = new Set<string>()
  let listed = false
  const settle = () => {
    if (listed && silent.size === 0) events.settled()
  }

  // No event tells of an empty list, so the call that lists is listened to. It comes a tick from now.
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
    silent.add(name)
    // The library's own listener connects to each card that comes, and loses what goes wrong: its errors are emitted
    // as events that are named after the error. Here a card is connected to when it is wanted.
    reader.reader.removeAllListeners('status')
    reader.reader.on('status', ({ state, atr }) => {
      atrs.set(name, atr ?? new Uint8Array())
      events.status(name, state)
      if (silent.delete(name)) settle()
    })
    reader.on('error', events.failed)
    reader.on('end', () => {
      readers.delete(name)
      if (silent.delete(name)) settle()
      events.removed(name)
    })
  })

  return {
    name: 'nfc-pcsc',
    async connect(name) {
      const reader = readers.get(name)
      if (reader === undefined) throw new PcscError('gone', `${name} is gone`)
      await reader.connect().catch(translate)
      // `transmit` looks at it.
      reader.card = {}
      return connectionTo(reader, atrs.get(name) ?? new Uint8Array())
    },
  }
}

const connectionTo = (reader: Reader, atr: Uint8Array): Connection => ({
  atr,
  transmit: (apdu) => reader.transmit(Buffer.from(apdu), 258).catch(translate),
  disconnect: async () => {
    reader.card = null
    if (reader.connection !== null) await reader.disconnect()
  },
})

/** The library tells the code of PC/SC in its text alone: `SCardConnect error: Card was removed.(0x80100069)`. */
function translate(error: unknown): never {
  const cause = error instanceof Error && 'previous' in error ? error.previous : undefined
  const message = cause instanceof Error ? cause.message : String(error)
  const [, code] = /\(0x([0-9a-f]{8})\)/i.exec(message) ?? []
  throw new PcscError(meanings[code?.toUpperCase() ?? ''] ?? 'gone', message, { cause: error })
}

/** pcsclite.h. All else means that the card is not to be talked to any more. */
const meanings: Readonly<Record<string, Refusal>> = {
  '8010000B': 'in-use', // SCARD_E_SHARING_VIOLATION
  '8010000F': 'mute', // SCARD_E_PROTO_MISMATCH
  '80100065': 'mute', // SCARD_W_UNSUPPORTED_CARD
  '80100066': 'mute', // SCARD_W_UNRESPONSIVE_CARD
  '8010001D': 'service', // SCARD_E_NO_SERVICE
  '8010001E': 'service', // SCARD_E_SERVICE_STOPPED
}
