import type { Logger } from 'pino'

export interface ClosingStep {
  readonly what: string
  run(): unknown
}

/** Every step gets at least this, however long earlier steps took. */
const minMs = 500

/**
 * Closes things one after another even if earlier steps fail: a failed last write must not leave a process behind. A
 * step that does not end is abandoned, so that all steps end by one deadline.
 * @returns true if all steps succeeded
 */
export async function closeInOrder(
  steps: readonly ClosingStep[],
  { log, withinMs }: { log: Pick<Logger, 'error'>; withinMs: number },
): Promise<boolean> {
  const until = performance.now() + withinMs
  let isWhole = true
  for (const [index, step] of steps.entries()) {
    const reserved = minMs * (steps.length - 1 - index)
    const failure = await inTime(step, Math.max(minMs, until - performance.now() - reserved))
    if (failure === undefined) continue
    isWhole = false
    log.error({ err: failure.error, step: step.what }, 'a step of the shutdown failed')
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
