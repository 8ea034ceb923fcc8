import { type Backend, type BackendEvents, type Connection, missing, PcscError } from './backend.ts'
import type { Refusal } from './protocol.ts'

/** The binaries of pcsc-mini 0.1.3, without its wrapper: that one's other platforms cannot be locked. */
const packages: Readonly<Record<string, string>> = {
  'linux-x64': '@pcsc-mini/linux-x86_64-gnu',
  'linux-arm64': '@pcsc-mini/linux-aarch64-gnu',
  'darwin-x64': '@pcsc-mini/macos-x86_64',
  'darwin-arm64': '@pcsc-mini/macos-aarch64',
  'win32-x64': '@pcsc-mini/windows-x86_64-node',
  'win32-arm64': '@pcsc-mini/windows-aarch64-node',
}

/** As much of the binary as is used; its types are in the wrapper's `build/addon.node.d.ts`. */
interface Addon {
  readonly CardMode: { readonly SHARED: number }
  readonly CardDisposition: { readonly LEAVE: number }
  newClient(): {
    start(onChange: (reader: string, bits: number) => void, onError: (error: Error) => void): void
    connect(reader: string, mode: number): Promise<Session>
  }
}

interface Session {
  transmit(protocol: undefined, input: Uint8Array, output: ArrayBuffer): Promise<Uint8Array>
  disconnect(disposition: number): Promise<void>
  state(): Promise<{ readonly atr: Uint8Array }>
}

/** SCARD_STATE_UNKNOWN, SCARD_STATE_UNAVAILABLE: the reader is gone. */
const absent = 0x0c
/** No event tells of an empty list: after so long without one there is no reader. */
const emptyAfterMs = 300
/** Readers that were there are told of within one turn of the event loop, or two. */
const quietMs = 30

/** @throws BackendMissing where there is no binary for this computer; Error where there is no service */
export async function openPcscMini(events: BackendEvents): Promise<Backend> {
  const computer = `${process.platform}-${process.arch}`
  const name = packages[computer] ?? missing(`There is no binary for ${computer}`)
  const addon: Addon = await import(name).catch(missing)
  const client = addon.newClient()
  let settling = setTimeout(events.settled, emptyAfterMs)
  let told = false
  client.start((reader, bits) => {
    if (bits & absent) events.removed(reader)
    else events.status(reader, bits)
    if (told) return
    told = true
    clearTimeout(settling)
    settling = setTimeout(events.settled, quietMs)
  }, events.failed)
  return {
    name: 'pcsc-mini',
    connect: async (reader) => {
      const session = await client.connect(reader, addon.CardMode.SHARED).catch(translate)
      // The ATR that comes with a change has the right length and the wrong bytes.
      const { atr } = await session.state().catch(async (error: unknown) => {
        await session.disconnect(addon.CardDisposition.LEAVE)
        return translate(error)
      })
      return connectionTo(session, atr, addon.CardDisposition.LEAVE)
    },
  }
}

function connectionTo(session: Session, atr: Uint8Array, leave: number): Connection {
  // The library keeps each buffer that it is given for an answer, for ever; and none that it is given to send, so that
  // the collector may take it in the middle. One of each, held here, serves all of a connection's commands.
  const input = new Uint8Array(new ArrayBuffer(512))
  const output = new ArrayBuffer(512)
  return {
    atr,
    async transmit(apdu) {
      input.set(apdu)
      const answer = await session
        .transmit(undefined, input.subarray(0, apdu.length), output)
        .catch(translate)
      return answer.slice()
    },
    disconnect: () => session.disconnect(leave),
  }
}

function translate(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  throw new PcscError(meanings[code] ?? 'gone', code || String(error), { cause: error })
}

/** The names that it gives to PC/SC's codes. All else means that the card is not to be talked to any more. */
const meanings: Readonly<Record<string, Refusal>> = {
  SharingViolation: 'in-use',
  ProtoMismatch: 'mute',
  UnsupportedCard: 'mute',
  UnresponsiveCard: 'mute',
  NoService: 'service',
  ServiceStopped: 'service',
}
