import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Order } from './checkpoint-thread.ts'
import type { Connection } from './connection.ts'
import { programFile } from './program-file.ts'

/** Number of pages in the log at which it is copied: 12 MB. */
const pagesBetween = 3000

/**
 * Copies the write-ahead log into the database outside the event loop, because in a commit it would delay every
 * request. Writes go on during a first pass. They wait for the second, a short one: the log restarts only once all
 * of it is copied. A pass that fails leaves the log as it is: it grows until a commit does the same, within the bound
 * of `openSqlite`.
 */
export class Checkpoints {
  readonly #begin: () => Worker
  readonly #logState
  #worker: Worker | undefined
  #logBefore = 0
  #pass: 'none' | 'first' | 'second is due' = 'none'
  #running: Promise<void> = Promise.resolve()
  #ended: () => void = () => undefined

  constructor(file: string, connection: Connection, begin: (file: string) => Worker = beginThread) {
    this.#begin = () => this.#watch(begin(file))
    this.#logState = connection.prepare<[], { log: number; checkpointed: number }>(
      'PRAGMA wal_checkpoint(NOOP)',
    )
  }

  /** Call it between writes. @returns a promise that later writes must wait for, if any */
  between(): Promise<void> | undefined {
    if (this.#pass === 'second is due') {
      this.#pass = 'none'
      return this.#run()
    }
    if (this.#pass === 'first') return
    const { log, checkpointed } = this.#logState.get() ?? { log: 0, checkpointed: 0 }
    // The log has restarted. While somebody reads from its beginning, it cannot restart, and only its growth
    // is copied.
    if (log < this.#logBefore) this.#logBefore = 0
    if (log - Math.max(checkpointed, this.#logBefore) < pagesBetween) return
    this.#logBefore = log
    this.#pass = 'first'
    void this.#run().then(() => {
      this.#pass = 'second is due'
    })
    return
  }

  async close(): Promise<void> {
    await this.#running
    const worker = this.#worker
    if (!worker) return
    const gone = once(worker, 'exit')
    worker.ref()
    worker.postMessage('end' satisfies Order)
    await gone
  }

  #run(): Promise<void> {
    try {
      this.#worker ??= this.#begin()
    } catch {
      // It may have one later.
      return Promise.resolve()
    }
    const worker = this.#worker
    // An idle thread must not keep the daemon running.
    worker.ref()
    worker.postMessage('pass' satisfies Order)
    this.#running = new Promise((resolve) => {
      this.#ended = () => {
        worker.unref()
        resolve()
      }
    })
    return this.#running
  }

  #watch(worker: Worker): Worker {
    worker.on('message', () => this.#ended())
    // The thread exits after an error; the next pass starts another one.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      this.#worker = undefined
      this.#ended()
    })
    return worker
  }
}

/** @throws Error if the machine has no thread to spare */
export function beginThread(file: string): Worker {
  // The environment of the daemon may contain keys.
  return new Worker(programFile('checkpoint-thread'), { workerData: file, env: {}, execArgv: [] })
}
