import type { ReaderUnavailable } from '../card.ts'
import { HostProcess, type HostSettings } from './host-process.ts'
import type { BackendName, ReaderSnapshot } from './protocol.ts'
import { attach } from './service.ts'
import { closed, turnedAway } from './unavailable.ts'

/** One life of the service and of the child process that talks to it: when either goes, both are done with. */
export interface Session {
  readonly backend: BackendName
  readonly host: HostProcess
  readonly readers: readonly ReaderSnapshot[]
  /** Whether that card still lies there. */
  present(card: ReaderSnapshot): boolean
}

/**
 * Resolves when the readers are known.
 * @param onReaders called with all readers, whenever one of them changed
 * @param abandon aborted when nobody wants it any more before it is there
 * @throws ReaderUnavailable
 */
export async function openSession(
  settings: HostSettings,
  onReaders: (readers: readonly ReaderSnapshot[]) => void,
  abandon: AbortSignal,
): Promise<Session> {
  const service = await attach(settings.env)
  let readers: readonly ReaderSnapshot[] = []
  const host = new HostProcess(settings, (now) => {
    readers = now
    onReaders(now)
  })
  let begun = false
  void service.ended.then((error) => host.stop(begun ? error : turnedAway()))
  void host.ended.then(() => service.leave())
  const stop = () => void host.stop(closed())
  abandon.addEventListener('abort', stop, { once: true })
  if (abandon.aborted) stop()
  const backend = await Promise.race([host.ready, host.ended.then(fail)])
  begun = true
  abandon.removeEventListener('abort', stop)
  return {
    backend,
    host,
    get readers() {
      return readers
    },
    present: ({ name, presence }) =>
      readers.some((reader) => reader.name === name && reader.presence === presence),
  }
}

function fail(error: ReaderUnavailable): never {
  throw error
}
