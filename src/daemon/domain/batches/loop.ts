import type { Logger } from 'pino'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import {
  type BatchRow,
  batchesDue,
  batchesIn,
  batchesToUndo,
  changeBatch,
  type NamedBatch,
} from '../../store/batches/batches.ts'
import type { Election } from '../../store/lease/leader-election.ts'
import { endedBatches, logPaused, pauseEndedBatches } from '../access/ended-batches.ts'
import { DomainError, storeFailure } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { BatchSignals } from './follow.ts'
import type { BatchDeps } from './kind.ts'
import { runBatch } from './run.ts'
import { pause } from './send.ts'
import { cancelExpired } from './steps.ts'
import { makeUndo } from './undo.ts'

/** Polled, because other daemons start batches too, and clocks jump. */
const everyMs = 1000
/** Running more at once would only divide the time. */
const maxConcurrent = 64
const maxDue = 100
const lateFromMs = 60_000
/** Delay before each retry while the database is unavailable. */
const pauses = [1000, 3000, 6000, 10_000]

interface Job {
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** Runs due batches on the daemon that leads. */
export class BatchLoop {
  readonly signals = new BatchSignals()
  readonly deps: BatchDeps
  readonly #election: Election
  readonly #log: Pick<Logger, 'error' | 'warn'>
  readonly #jobs = new Map<string, Job>()
  /** Waiting reasons of the batches that this daemon runs. */
  readonly #waiting = new Map<string, string>()
  readonly #loop: BackgroundLoop<void>
  #isFailing = false

  constructor(deps: BatchDeps, election: Election, log: Pick<Logger, 'error' | 'warn'>) {
    this.deps = deps
    this.#election = election
    this.#log = log
    this.#loop = new BackgroundLoop({
      run: () => this.#look(),
      restMs: () => everyMs,
      failed: (err) => {
        if (!this.#isFailing) this.#log.error({ err }, 'batches cannot be looked at')
        this.#isFailing = true
      },
    })
    election.onElected(() => this.wake())
  }

  start(): void {
    this.#loop.start()
  }

  /** Call it when a batch was started. */
  wake(): void {
    this.#loop.wake()
  }

  /** Rows in progress are completed, and no new ones begin. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#stopJobs()
  }

  /** Runs one round and waits for everything that it starts. */
  async tick(): Promise<void> {
    await this.#loop.tick()
    await Promise.all([...this.#jobs.values()].map(({ ended }) => ended))
  }

  /** Call it after pausing the batch. Resolves once its rows in progress here have ended. */
  async stopBatch(id: string): Promise<void> {
    const job = this.#jobs.get(id)
    job?.stop.abort()
    await job?.ended
    this.signals.notify(id)
  }

  /** Includes the current waiting reason. */
  shown(batch: NamedBatch): NamedBatch {
    const reason = batch.state === 'running' ? this.#waiting.get(batch.id) : undefined
    return reason === undefined ? batch : { ...batch, error: reason }
  }

  async #stopJobs(): Promise<void> {
    const jobs = [...this.#jobs.values()]
    for (const { stop } of jobs) stop.abort()
    await Promise.all(jobs.map(({ ended }) => ended))
  }

  async #look(): Promise<void> {
    if (!(await this.#election.check())) return this.#stopJobs()
    const { db, clock } = this.deps
    const now = clock.now()
    await this.#pauseEnded(iso(now))
    for (const batch of await batchesDue(db.read, iso(now), maxDue)) await this.#startDue(batch, now)
    for (const batch of await batchesToUndo(db.read, iso(now), maxDue))
      this.#begin(`undo of ${batch.id}`, () => this.#takeBack(batch))
    for (const { id } of await batchesIn(db.read, 'running', maxConcurrent))
      this.#begin(id, (stopped) => this.#run(id, stopped))
    this.#isFailing = false
  }

  /** Revoking a credential pauses its batches at once; batches of expired ones are paused here. */
  async #pauseEnded(at: string): Promise<void> {
    const { db } = this.deps
    if ((await endedBatches(db.read, at)).length === 0) return
    const actor = { name: 'daemon', requestId: null }
    logPaused(this.#log, await db.write((trx) => pauseEndedBatches(trx, { at, actor })))
  }

  #begin(key: string, job: (stopped: AbortSignal) => Promise<void>): void {
    if (this.#jobs.has(key) || this.#jobs.size >= maxConcurrent || this.#loop.isEnding) return
    const stop = new AbortController()
    const ended = job(stop.signal)
      .catch((err: unknown) => this.#log.error({ err, batch: key }, 'a batch could not be run'))
      .finally(() => this.#jobs.delete(key))
    this.#jobs.set(key, { stop, ended })
  }

  async #startDue(batch: BatchRow, now: number): Promise<void> {
    const { id, at, until, kind } = batch
    if (until !== null && until <= iso(now)) {
      if (await cancelExpired(this.deps, batch))
        this.#log.warn(
          { batch: id, kind, at, until },
          'a batch was cancelled: its end had passed before it began',
        )
      return
    }
    const late = at === null ? 0 : now - Date.parse(at)
    const lateSeconds = late > lateFromMs ? Math.round(late / 1000) : null
    const change = { state: 'running', startedAt: iso(now), touchedAt: iso(now), lateSeconds } as const
    const isOurs = await this.deps.db.write((trx) => changeBatch(trx, id, { states: ['scheduled'] }, change))
    if (isOurs && lateSeconds !== null)
      this.#log.warn({ batch: id, kind, at, lateSeconds }, 'a batch was started after its time')
  }

  /** Acts on behalf of whoever started it. */
  async #takeBack(batch: BatchRow): Promise<void> {
    const { db, clock } = this.deps
    const id = await makeUndo(this.deps, batch, batch)
    const now = iso(clock.now())
    const change = { state: 'running', nextPiece: 0, nextRow: 0, startedAt: now, touchedAt: now } as const
    await db.write((trx) => changeBatch(trx, id, { states: ['uploading', 'planned'] }, change))
    this.wake()
  }

  async #run(id: string, stopped: AbortSignal): Promise<void> {
    let failures = 0
    const moved = () => {
      failures = 0
      this.#waiting.delete(id)
      this.signals.notify(id)
    }
    while (!stopped.aborted && this.#election.isLeader) {
      try {
        await runBatch(
          { deps: this.deps, stopped, moved, waitsFor: (reason) => this.#waitsFor(id, reason) },
          id,
        )
        break
      } catch (error) {
        const resumesByItself = 'The batch continues automatically.'
        const failure = storeFailure(error, { stands: resumesByItself, outcomeMessage: resumesByItself })
        if (!failure) {
          await this.#fail(id, error)
          break
        }
        if (failures === 0) this.#log.warn({ batch: id, err: error }, 'a batch waits for the database')
        this.#waiting.set(id, failure.message)
        this.signals.notify(id)
        await pause(pauses[Math.min(failures, pauses.length - 1)] ?? everyMs, stopped)
        failures += 1
      }
    }
    this.#waiting.delete(id)
    this.signals.notify(id)
  }

  /** Stored, so that other daemons can report it too. */
  async #waitsFor(id: string, reason: string | undefined): Promise<void> {
    if (this.#waiting.get(id) === reason) return
    if (reason === undefined) this.#waiting.delete(id)
    else this.#waiting.set(id, reason)
    const change = { error: reason ?? null }
    await this.deps.db.write((trx) => changeBatch(trx, id, { states: ['running'] }, change))
    this.signals.notify(id)
  }

  async #fail(id: string, cause: unknown): Promise<void> {
    const { db, clock } = this.deps
    const error =
      cause instanceof DomainError
        ? cause.message
        : 'Something went wrong inside the daemon. Its log has the cause under the ID of this batch.'
    if (!(cause instanceof DomainError)) this.#log.error({ err: cause, batch: id }, 'a batch failed')
    const change = { state: 'failed', error, touchedAt: iso(clock.now()) } as const
    await db.write((trx) => changeBatch(trx, id, { states: ['running'] }, change))
  }
}
