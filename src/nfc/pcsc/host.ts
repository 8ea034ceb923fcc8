import { type Backend, type BackendEvents, BackendMissing, PcscError } from './backend.ts'
import { Connections } from './connections.ts'
import { openNfcPcsc } from './nfc-pcsc.ts'
import { openPcscMini } from './pcsc-mini.ts'
import { type BackendName, type FromHost, type HostRequest, type HostResponse, toHost } from './protocol.ts'
import { ReaderTable } from './reader-table.ts'

// The child process that talks to PC/SC. The libraries spin, deadlock, and crash when the service disappears, so this
// process is made to be killed: its parent knows all of its state, and it never exits by itself.

const table = new ReaderTable()
const connections = new Connections(table)
let backend: Backend | undefined
let settled = false

const readers = () => table.snapshot().map((at) => connections.describe(at))
const sendToParent = (message: FromHost): void => void process.send?.(message, () => undefined)
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const broken = (error: unknown): void =>
  sendToParent({ type: 'failed', why: 'broken', message: messageOf(error) })

function changed(reader: string): void {
  connections.changed(reader).catch(broken)
  if (settled) sendToParent({ type: 'readers', readers: readers() })
}

const events: BackendEvents = {
  status: (reader, bits, atr) => {
    table.status(reader, bits, atr)
    changed(reader)
  },
  removed: (reader) => {
    table.removed(reader)
    changed(reader)
  },
  settled: () => {
    if (settled) return
    settled = true
    sendToParent({ type: 'readers', readers: readers() })
  },
  failed: broken,
}

async function start(backendName: BackendName | undefined): Promise<void> {
  const open = { 'nfc-pcsc': openNfcPcsc, 'pcsc-mini': openPcscMini }
  const reasons: string[] = []
  for (const name of backendName === undefined ? (['nfc-pcsc', 'pcsc-mini'] as const) : [backendName]) {
    try {
      backend = await open[name](events)
      return sendToParent({ type: 'started', backend: name })
    } catch (error) {
      if (!(error instanceof BackendMissing)) return broken(error)
      reasons.push(`${name}: ${error.message}`)
    }
  }
  sendToParent({ type: 'failed', why: 'no-backend', message: reasons.join('; ') })
}

async function perform(request: Exclude<HostRequest, { type: 'ping' }>): Promise<Uint8Array> {
  if (backend === undefined) throw new PcscError('service', 'Not started')
  if (request.type === 'connect') return connections.connect(backend, request)
  if (request.type === 'transmit') return connections.transmit(request, request.apdu)
  if (request.type === 'control') await connections.control(request, request.command)
  else await connections.release(request)
  return new Uint8Array()
}

async function respond(request: HostRequest): Promise<void> {
  const { id } = request
  const send = (response: HostResponse) => sendToParent({ type: 'response', id, response })
  if (request.type === 'ping') return send({ status: 'done', data: new Uint8Array() })
  try {
    send({ status: 'done', data: await perform(request) })
  } catch (error) {
    if (!(error instanceof PcscError)) return broken(error)
    send({ status: 'refused', why: error.why, message: error.message })
  }
}

process.on('message', (raw) => {
  const message = toHost.parse(raw)
  void (message.type === 'start' ? start(message.backend) : respond(message))
})
// Ctrl-C, a terminal that closes, and a system that shuts down reach the whole process group, but the parent may still
// have to finish a chip; it ends this process then.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.on(signal, () => undefined)
// The parent is gone. An orderly exit would wait for library threads that may never end.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
