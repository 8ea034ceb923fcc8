/** Calls later, and can be told not to. */
export type Schedule = (job: () => void, ms: number) => () => unknown

/** A timer that keeps no process alive. */
export const systemSchedule: Schedule = (job, ms) => {
  const timer = setTimeout(job, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Times in milliseconds. */
export interface LoopSettings<T> {
  run(): Promise<T>
  /** When it runs first; at once where that is not given. */
  firstMs?: number
  /** How long it rests after a run, also after one that failed. */
  restMs(): number | Promise<number>
  /** At most how long, where it is woken. */
  wokenMs?(): number
  /** Hears of runs of the loop that threw; the loop goes on. */
  failed(error: unknown): void
  schedule?: Schedule
}

/** Runs something in the background again and again, one run at a time. */
export class BackgroundLoop<T = unknown> {
  readonly #settings: LoopSettings<T>
  readonly #schedule: Schedule
  #cancel: (() => unknown) | undefined
  /** By the process's own clock. */
  #dueAt = Number.POSITIVE_INFINITY
  #running: Promise<T> | undefined
  #isWoken = false
  #state: 'new' | 'on' | 'stopped' = 'new'

  constructor(settings: LoopSettings<T>) {
    this.#settings = settings
    this.#schedule = settings.schedule ?? systemSchedule
  }

  /** After {@link stop}, a run that has several things to do ends after the current one. */
  get isEnding(): boolean {
    return this.#state === 'stopped'
  }

  start(): void {
    if (this.#state === 'on') return
    this.#state = 'on'
    this.#runIn(this.#settings.firstMs ?? 0)
  }

  /** There is something to do sooner than was thought. However often this is called, what is due gets its turn. */
  wake(): void {
    if (this.#state !== 'on') return
    if (this.#running) this.#isWoken = true
    else this.#runIn(this.#settings.wokenMs?.() ?? 0)
  }

  /** Runs once, now; several at once are one. */
  tick(): Promise<T> {
    this.#running ??= this.#settings.run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Ends with the run that is under way. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancel?.()
    this.#dueAt = Number.POSITIVE_INFINITY
    await this.#running?.catch(() => undefined)
  }

  #runIn(ms: number): void {
    const at = performance.now() + ms
    if (at >= this.#dueAt) return
    this.#cancel?.()
    this.#dueAt = at
    if (ms > 0) this.#cancel = this.#schedule(() => void this.#turn(), ms)
    else void this.#turn()
  }

  async #turn(): Promise<void> {
    const { restMs, wokenMs, failed } = this.#settings
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#isWoken = false
    await this.tick().catch(failed)
    const rest = restMs()
    const ms = typeof rest === 'number' ? rest : await rest
    if (this.#state === 'on') this.#runIn(this.#isWoken ? Math.min(ms, wokenMs?.() ?? 0) : ms)
  }
}
