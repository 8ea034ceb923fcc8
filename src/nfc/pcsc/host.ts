import { KeyedMutex } from '../../values/keyed-mutex.ts'
import { type Backend, type BackendEvents, BackendMissing, type Connection, PcscError } from './backend.ts'
import { openNfcPcsc } from './nfc-pcsc.ts'
import { openPcscMini } from './pcsc-mini.ts'
import {
  type BackendName,
  type FromHost,
  type HostRequest,
  type HostResponse,
  type ReaderSnapshot,
  toHost,
} from './protocol.ts'
import { ReaderTable } from './reader-table.ts'

// The child process that talks to PC/SC. The libraries spin, deadlock, and crash when the service disappears, so this
// process is made to be killed: its parent knows all of its state, and it never exits by itself.

const table = new ReaderTable()
const connections = new Map<string, { readonly presence: number; readonly connection: Connection }>()
const readerMutex = new KeyedMutex()
let backend: Backend | undefined
let settled = false

/** PC/SC calls our own cards in use as well. */
const readers = () =>
  table
    .snapshot()
    .map((at) => (at.state === 'in-use' && isOurs(at) ? { ...at, state: 'present' as const } : at))
const isOurs = ({ name, presence }: ReaderSnapshot) => connections.get(name)?.presence === presence

const tell = (message: FromHost): void => void process.send?.(message, () => undefined)
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const broken = (error: unknown): void => tell({ type: 'failed', why: 'broken', message: messageOf(error) })

function changed(reader: string): void {
  const held = connections.get(reader)
  if (held !== undefined && held.presence !== table.presence(reader))
    readerMutex.run(reader, () => drop(reader, held.presence)).catch(broken)
  if (settled) tell({ type: 'readers', readers: readers() })
}

const events: BackendEvents = {
  status: (reader, bits) => {
    table.status(reader, bits)
    changed(reader)
  },
  removed: (reader) => {
    table.removed(reader)
    changed(reader)
  },
  settled: () => {
    if (settled) return
    settled = true
    tell({ type: 'readers', readers: readers() })
  },
  failed: broken,
}

async function start(wanted: BackendName | undefined): Promise<void> {
  const open = { 'nfc-pcsc': openNfcPcsc, 'pcsc-mini': openPcscMini }
  const reasons: string[] = []
  for (const name of wanted === undefined ? (['nfc-pcsc', 'pcsc-mini'] as const) : [wanted]) {
    try {
      backend = await open[name](events)
      return tell({ type: 'started', backend: name })
    } catch (error) {
      if (!(error instanceof BackendMissing)) return broken(error)
      reasons.push(`${name}: ${error.message}`)
    }
  }
  tell({ type: 'failed', why: 'no-backend', message: reasons.join('; ') })
}

/** Disconnects the card of that presence, if connected. After an error here no handle can be trusted. */
async function drop(reader: string, presence: number): Promise<void> {
  const held = connections.get(reader)
  if (held?.presence !== presence) return
  connections.delete(reader)
  await held.connection.disconnect()
}

async function connect(reader: string, presence: number): Promise<Uint8Array> {
  if (backend === undefined) throw new PcscError('service', 'Not started')
  const held = connections.get(reader)
  if (held !== undefined) await drop(reader, held.presence)
  if (presence === 0 || table.presence(reader) !== presence) throw new PcscError('gone', 'The card left')
  const connection = await backend.connect(reader)
  connections.set(reader, { presence, connection })
  if (table.presence(reader) === presence) return connection.atr
  await drop(reader, presence)
  throw new PcscError('gone', 'The card left')
}

function connected(reader: string, presence: number): Connection {
  const held = connections.get(reader)
  if (held?.presence !== presence) throw new PcscError('gone', 'The card left')
  return held.connection
}

async function transmit(reader: string, presence: number, apdu: Uint8Array): Promise<Uint8Array> {
  const connection = connected(reader, presence)
  try {
    const answer = await connection.transmit(apdu)
    // nfc-pcsc returns an empty answer for a card that left during the command.
    if (answer.length < 2) throw new PcscError('gone', 'The card did not answer')
    return answer
  } catch (error) {
    await drop(reader, presence)
    throw error
  }
}

async function perform(request: Exclude<HostRequest, { type: 'ping' }>): Promise<Uint8Array> {
  const { reader, presence } = request
  if (request.type === 'connect') return connect(reader, presence)
  if (request.type === 'transmit') return transmit(reader, presence, request.apdu)
  if (request.type === 'control') await connected(reader, presence).control(request.command)
  else await drop(reader, presence)
  return new Uint8Array()
}

async function respond(request: HostRequest): Promise<void> {
  const { id } = request
  const send = (response: HostResponse) => tell({ type: 'response', id, response })
  if (request.type === 'ping') return send({ status: 'done', data: new Uint8Array() })
  try {
    send({ status: 'done', data: await readerMutex.run(request.reader, () => perform(request)) })
  } catch (error) {
    if (!(error instanceof PcscError)) return broken(error)
    send({ status: 'refused', why: error.why, message: error.message })
  }
}

process.on('message', (raw) => {
  const message = toHost.parse(raw)
  void (message.type === 'start' ? start(message.backend) : respond(message))
})
// Ctrl-C reaches the whole process group, but the parent may still have to finish a chip; it ends this process then.
process.on('SIGINT', () => undefined)
// The parent is gone. An orderly exit would wait for library threads that may never end.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
