import type { RetryLater, RowResult } from './kind.ts'

/** Delays between retries of waiting rows, in milliseconds; the last one repeats. */
const pauses = [1000, 3000, 6000, 10_000, 15_000, 30_000]
/** During a delay, how often to check that the batch still runs. */
const pollMs = 500

interface SendOptions<T> {
  readonly rows: readonly T[]
  readonly concurrency: number
  readonly stopped: AbortSignal
  /** The batch no longer runs. */
  isGone(): Promise<boolean>
  /** The row takes effect in any case, so it is sent even if the batch no longer runs. */
  isRecorded?(row: T): boolean
  /** @param reason undefined: it no longer waits */
  waitsFor(reason: string | undefined): Promise<void>
  send(row: T): Promise<RowResult | RetryLater>
  onResult(row: T, result: RowResult): void
}

interface SendResult {
  /** Every row has a result. */
  readonly isComplete: boolean
  readonly failure?: { readonly error: unknown } | undefined
}

/** Sends rows concurrently, and retries those that have to wait. */
export async function sendRows<T>(sending: SendOptions<T>): Promise<SendResult> {
  let remaining = sending.rows
  for (let attempt = 0; remaining.length > 0; attempt += 1) {
    const { waiting, isStopped, failure } = await sendOnce(sending, remaining)
    if (failure || isStopped) return { isComplete: false, failure }
    remaining = waiting.map(({ row }) => row)
    const reason = waiting.at(-1)?.reason
    await sending.waitsFor(reason)
    if (reason === undefined) break
    const ms = pauses[Math.min(attempt, pauses.length - 1)] ?? 0
    if (!(await rest(sending, ms))) return { isComplete: false }
  }
  return { isComplete: true }
}

async function sendOnce<T>(sending: SendOptions<T>, rows: readonly T[]) {
  const { concurrency, stopped, isGone, isRecorded, send, onResult: settled } = sending
  const waiting: { row: T; reason: string }[] = []
  const queue = rows.values()
  let isStopped = false
  let failure: { error: unknown } | undefined
  const work = async () => {
    for (const row of queue) {
      isStopped ||= stopped.aborted || (await isGone())
      if (failure || stopped.aborted) return
      if (isStopped && !isRecorded?.(row)) continue
      try {
        const result = await send(row)
        if ('retryReason' in result) waiting.push({ row, reason: result.retryReason })
        else settled(row, result)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, work))
  return { waiting, isStopped, failure }
}

/** @returns false if it was stopped in the meantime */
async function rest<T>({ stopped, isGone }: SendOptions<T>, ms: number): Promise<boolean> {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await pause(Math.min(left, pollMs), stopped)
    if (stopped.aborted || (await isGone())) return false
  }
  return true
}

/** Ends early once the signal aborts. */
export const pause = (ms: number, stopped: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (stopped.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      stopped.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    stopped.addEventListener('abort', end)
  })
