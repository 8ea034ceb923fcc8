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

/** The binaries of pcsc-mini 0.1.3 without its wrapper, which would need all of its platforms' packages. */
const packages: Readonly<Record<string, string>> = {
  'linux-x64': '@pcsc-mini/linux-x86_64-gnu',
  'linux-arm64': '@pcsc-mini/linux-aarch64-gnu',
  'darwin-x64': '@pcsc-mini/macos-x86_64',
  'darwin-arm64': '@pcsc-mini/macos-aarch64',
  'win32-x64': '@pcsc-mini/windows-x86_64-node',
  'win32-arm64': '@pcsc-mini/windows-aarch64-node',
}

/** The used part of the binary. Source: the wrapper's `build/addon.node.d.ts` */
interface Addon {
  readonly CardMode: { readonly EXCLUSIVE: number }
  readonly CardDisposition: { readonly LEAVE: number }
  newClient(): {
    start(onChange: (reader: string, bits: number) => void, onError: (error: Error) => void): void
    connect(reader: string, mode: number): Promise<AddonCard>
  }
}

interface AddonCard {
  transmit(protocol: undefined, input: Uint8Array, output: ArrayBuffer): Promise<Uint8Array>
  control(code: number, input: Uint8Array, output: ArrayBuffer): Promise<Uint8Array>
  reconnect(mode: number, disposition: number): Promise<unknown>
  disconnect(disposition: number): Promise<void>
  state(): Promise<{ readonly atr: Uint8Array }>
}

/** SCARD_STATE_UNKNOWN and SCARD_STATE_UNAVAILABLE. */
const absent = 0x0c
/** No event reports an empty list, so this long without any event means that there is no reader; a busy computer is slow. */
const emptyAfterMs = 600
/** The initial readers are reported within a turn or two of the event loop. */
const quietMs = 30

/** @throws BackendMissing where there is no binary for this computer; Error where there is no service */
export async function openPcscMini(events: BackendEvents): Promise<Backend> {
  const computer = `${process.platform}-${process.arch}`
  const name = packages[computer] ?? missing(`There is no binary for ${computer}`)
  const addon: Addon = await import(name).catch(missing)
  const client = addon.newClient()
  let settling = setTimeout(events.settled, emptyAfterMs)
  let hasEvent = false
  client.start((reader, bits) => {
    if (bits & absent) events.removed(reader)
    else events.status(reader, bits)
    if (hasEvent) return
    hasEvent = true
    clearTimeout(settling)
    settling = setTimeout(events.settled, quietMs)
  }, events.failed)
  return {
    name: 'pcsc-mini',
    connect: async (reader) => {
      const { EXCLUSIVE } = addon.CardMode
      const { LEAVE } = addon.CardDisposition
      const card = await client.connect(reader, EXCLUSIVE).catch(translate)
      try {
        if (mayLosePower) await card.reconnect(EXCLUSIVE, LEAVE)
        // The ATR in change events has the right length but the wrong bytes.
        const { atr } = await card.state()
        return connectionTo(card, atr, LEAVE)
      } catch (error) {
        await card.disconnect(LEAVE).catch(() => undefined)
        return translate(error)
      }
    },
  }
}

function connectionTo(card: AddonCard, atr: Uint8Array, leave: number): Connection {
  // The library never frees an output buffer, and does not protect an input buffer from garbage collection during a
  // command. One of each, kept here, serves all commands of a connection.
  const input = new Uint8Array(new ArrayBuffer(512))
  const output = new ArrayBuffer(512)
  return {
    atr,
    async transmit(apdu) {
      input.set(apdu)
      const answer = await card.transmit(undefined, input.subarray(0, apdu.length), output).catch(translate)
      return answer.slice()
    },
    async control(command) {
      input.set(command)
      await card.control(escapeCode, input.subarray(0, command.length), output).catch(translate)
    },
    disconnect: () => card.disconnect(leave),
  }
}

function translate(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  throw new PcscError(meanings[code] ?? 'gone', code || String(error), { cause: error })
}

/** The library's names of PC/SC codes. Any other code means that the card is gone. */
const meanings: Readonly<Record<string, Refusal>> = {
  SharingViolation: 'in-use',
  ProtoMismatch: 'mute',
  UnsupportedCard: 'mute',
  UnresponsiveCard: 'mute',
  // The connection to the service broke, not the one to the card.
  CommError: 'service',
  NoService: 'service',
  ServiceStopped: 'service',
}
