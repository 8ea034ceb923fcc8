// The child process that holds PC/SC. Its libraries spin, deadlock and crash when the service goes away under them, so
// it is there to be killed: it keeps nothing that its parent does not know, and never ends itself in order.
import { type Backend, type BackendEvents, BackendMissing, type Connection, PcscError } from './backend.ts'
import { openNfcPcsc } from './nfc-pcsc.ts'
import { openPcscMini } from './pcsc-mini.ts'
import { type BackendName, type FromHost, type Outcome, type Request, toHost } from './protocol.ts'
import { ReaderTable } from './reader-table.ts'

const table = new ReaderTable()
const connections = new Map<string, { readonly presence: number; readonly connection: Connection }>()
/** What is under way at a reader: one thing after another. */
const busy = new Map<string, Promise<unknown>>()
let backend: Backend | undefined
let settled = false

const tell = (message: FromHost): void => void process.send?.(message, () => undefined)
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const broken = (error: unknown): void => tell({ type: 'failed', why: 'broken', message: messageOf(error) })

function changed(reader: string): void {
  const held = connections.get(reader)
  if (held !== undefined && held.presence !== table.presence(reader))
    inTurn(reader, () => drop(reader, held.presence)).catch(broken)
  if (settled) tell({ type: 'readers', readers: table.snapshot() })
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
    tell({ type: 'readers', readers: table.snapshot() })
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

function inTurn<T>(reader: string, run: () => Promise<T>): Promise<T> {
  const turn = (busy.get(reader) ?? Promise.resolve()).then(run, run)
  busy.set(reader, turn)
  return turn
}

/** Lets go of the card of that presence, if it is held. What fails here leaves handles that cannot be trusted. */
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

async function transmit(reader: string, presence: number, apdu: Uint8Array): Promise<Uint8Array> {
  const held = connections.get(reader)
  if (held?.presence !== presence) throw new PcscError('gone', 'The card left')
  try {
    const answer = await held.connection.transmit(apdu)
    // nfc-pcsc gives an empty answer for a card that left in the middle.
    if (answer.length < 2) throw new PcscError('gone', 'The card did not answer')
    return answer
  } catch (error) {
    await drop(reader, presence)
    throw error
  }
}

async function perform(request: Exclude<Request, { type: 'ping' }>): Promise<Uint8Array> {
  const { reader, presence } = request
  if (request.type === 'connect') return connect(reader, presence)
  if (request.type === 'transmit') return transmit(reader, presence, request.apdu)
  await drop(reader, presence)
  return new Uint8Array()
}

async function answer(request: Request): Promise<void> {
  const { id } = request
  const say = (outcome: Outcome) => tell({ type: 'answer', id, outcome })
  if (request.type === 'ping') return say({ status: 'done', data: new Uint8Array() })
  try {
    say({ status: 'done', data: await inTurn(request.reader, () => perform(request)) })
  } catch (error) {
    if (!(error instanceof PcscError)) return broken(error)
    say({ status: 'refused', why: error.why, message: error.message })
  }
}

process.on('message', (raw) => {
  const message = toHost.parse(raw)
  void (message.type === 'start' ? start(message.backend) : answer(message))
})
// Ctrl-C goes to the whole group: the parent still has a chip to finish, and ends this process then.
process.on('SIGINT', () => undefined)
// The parent is gone. An orderly exit would wait for threads of the libraries that may never end.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
