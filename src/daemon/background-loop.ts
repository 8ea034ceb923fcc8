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
  #isOn = false
  #isWoken = false
  /** Was stopped: a run that has several things to do ends with the one in hand. */
  isEnding = false

  constructor(settings: LoopSettings<T>) {
    this.#settings = settings
    this.#schedule = settings.schedule ?? systemSchedule
  }

  start(): void {
    if (this.#isOn) return
    this.#isOn = true
    this.isEnding = false
    this.#runIn(this.#settings.firstMs ?? 0)
  }

  /** There is something to do sooner than was thought. However often this is called, what is due gets its turn. */
  wake(): void {
    if (!this.#isOn) return
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
    this.#isOn = false
    this.isEnding = true
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
    if (this.#isOn) this.#runIn(this.#isWoken ? Math.min(ms, wokenMs?.() ?? 0) : ms)
  }
}
