import type { Logger } from 'pino'

export interface ClosingStep {
  /** For the log, where it fails. */
  readonly what: string
  run(): unknown
}

/** Each step has at least that, however long those before it took. */
const leastMs = 500

/**
 * Closes one thing after the other, whatever became of those before: a last write that fails leaves no process
 * behind. A step that does not end is given up, so that all of them end by one deadline.
 * @returns whether all went well
 */
export async function closeInOrder(
  steps: readonly ClosingStep[],
  { log, withinMs }: { log: Pick<Logger, 'error'>; withinMs: number },
): Promise<boolean> {
  const until = performance.now() + withinMs
  let isWhole = true
  for (const [index, step] of steps.entries()) {
    const reserved = leastMs * (steps.length - 1 - index)
    const failure = await inTime(step, Math.max(leastMs, until - performance.now() - reserved))
    if (failure === undefined) continue
    isWhole = false
    log.error({ err: failure.error, step: step.what }, 'could not be closed in order')
  }
  return isWhole
}

async function inTime(step: ClosingStep, ms: number): Promise<{ error: unknown } | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${Math.round(ms)} ms`)), ms)
  })
  try {
    await Promise.race([(async () => step.run())(), late])
    return undefined
  } catch (error) {
    return { error }
  } finally {
    clearTimeout(timer)
  }
}
