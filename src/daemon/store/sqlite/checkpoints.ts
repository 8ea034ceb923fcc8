import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Connection } from './connection.ts'

/** Rows that are changed before the log is copied: a few thousand of its pages. */
const changesBetween = 4000

/** Passed as text to the thread, because there is no bundle in tests. */
const program = `
const { parentPort, workerData } = require('node:worker_threads')
const Database = require(workerData.driver)
const db = new Database(workerData.file, { fileMustExist: true })
const pass = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
parentPort.on('message', (order) => {
  if (order === 'end') {
    db.close()
    parentPort.close()
    return
  }
  try {
    pass.all()
  } catch {
    // The next pass begins where this one did.
  }
  parentPort.postMessage('done')
})
`

/**
 * Copies the write-ahead log into the database beside the event loop, because in a commit it would hold up every request.
 * Writes go on during a first pass. They wait for the second, a short one: the log begins anew only once all of it is copied.
 * A pass that fails leaves the log as it is: it grows until a commit does the same, within the bound of `openSqlite`.
 */
export class Checkpoints {
  readonly #file: string
  readonly #changes
  #worker: Worker | undefined
  #changesBefore = 0
  #pass: 'none' | 'first' | 'second is due' = 'none'
  #running: Promise<void> = Promise.resolve()
  #ended: () => void = () => undefined

  constructor(file: string, connection: Connection) {
    this.#file = file
    this.#changes = connection.prepare<[], number>('SELECT total_changes()').pluck()
  }

  /** To be called between writes. @returns what they have to wait for */
  between(): Promise<void> | undefined {
    if (this.#pass === 'second is due') {
      this.#pass = 'none'
      return this.#run()
    }
    const changes = this.#changes.get() ?? 0
    if (this.#pass === 'first' || changes - this.#changesBefore < changesBetween) return
    this.#changesBefore = changes
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
    worker.postMessage('end')
    await gone
  }

  #run(): Promise<void> {
    this.#worker ??= this.#begin()
    const worker = this.#worker
    // An idle thread must not keep the daemon running.
    worker.ref()
    worker.postMessage('pass')
    this.#running = new Promise((resolve) => {
      this.#ended = () => {
        worker.unref()
        resolve()
      }
    })
    return this.#running
  }

  #begin(): Worker {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3')
    const workerData = { driver, file: this.#file }
    // The environment of the daemon may contain keys.
    const worker = new Worker(program, { eval: true, workerData, env: {}, execArgv: [] })
    worker.on('message', () => this.#ended())
    // It exits after an error. The next pass begins another.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      this.#worker = undefined
      this.#ended()
    })
    return worker
  }
}
