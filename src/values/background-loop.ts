export type Schedule = (job: () => void, ms: number) => () => unknown

/** A timer that does not keep the process alive. */
export const systemSchedule: Schedule = (job, ms) => {
  const timer = setTimeout(job, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Times in milliseconds. */
interface LoopSettings<T> {
  run(): Promise<T>
  /** Delay before the first run; absent: no delay. */
  firstMs?: number
  restMs(): number | Promise<number>
  /** The longest rest after a wake-up. */
  wokenMs?(): number
  failed(error: unknown): void
  schedule?: Schedule
}

export class BackgroundLoop<T = unknown> {
  readonly #settings: LoopSettings<T>
  readonly #schedule: Schedule
  #cancel: (() => unknown) | undefined
  /** On the process's monotonic clock. */
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

  /** Brings the next run forward. A run that is already due is never put off, however often this is called. */
  wake(): void {
    if (this.#state !== 'on') return
    if (this.#running) this.#isWoken = true
    else this.#runIn(this.#settings.wokenMs?.() ?? 0)
  }

  /** Runs once, now; concurrent calls share one run. */
  tick(): Promise<T> {
    this.#running ??= this.#settings.run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

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
    if (ms > 0) this.#cancel = this.#schedule(() => void this.#runTurn(), ms)
    else void this.#runTurn()
  }

  async #runTurn(): Promise<void> {
    const { restMs, wokenMs, failed } = this.#settings
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#isWoken = false
    await this.tick().catch(failed)
    const rest = restMs()
    const ms = typeof rest === 'number' ? rest : await rest
    if (this.#state === 'on') this.#runIn(this.#isWoken ? Math.min(ms, wokenMs?.() ?? 0) : ms)
  }
}
