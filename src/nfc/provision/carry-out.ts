import { type Script, together } from '../script.ts'
import { type ApplyDeps, writesToApply, writesToRecover } from './apply.ts'
import { CounterAtEnd } from './errors.ts'
import type { Inspection } from './inspect.ts'
import type { LiveTap } from './live-tap.ts'
import type { Plan } from './plan.ts'
import { readBack, restartCounter } from './read-back.ts'

export interface CarryOutDeps extends ApplyDeps {
  /** The chip may have been written to before: see recover. */
  readonly isBegun: boolean
  /** Called once everything is written; the chip may be lifted from then on. */
  readonly onWritten?: () => void
}

/**
 * Applies or recovers a plan, and reads the chip back, whose first burst travels with the writing one.
 * @returns as readBack @throws as apply, recover, and readBack
 */
export function* carryOut(plan: Plan, inspection: Inspection, deps: CarryOutDeps): Script<LiveTap | null> {
  try {
    return yield* writtenAndRead(plan, inspection, deps)
  } catch (error) {
    if (!(error instanceof CounterAtEnd)) throw error
    // The chip got these keys at the end of its count, so it has made no tap with them.
    yield* restartCounter(plan, deps)
    return yield* readBack(plan, deps)
  }
}

function* writtenAndRead(plan: Plan, inspection: Inspection, deps: CarryOutDeps): Script<LiveTap | null> {
  const writesTo = deps.isBegun ? writesToRecover : writesToApply
  const writes = yield* writesTo(plan, inspection, deps)
  const readings = noted(readBack(plan, deps), deps.onWritten)
  if (!writes) return yield* readings
  let tap: LiveTap | null = null
  const last = function* (): Script<void> {
    tap = yield* readings
  }
  yield* together([...writes, last()])
  return tap
}

/** Answers to the first burst of a script reach it only after those to all commands before it were checked. */
function* noted<Result>(script: Script<Result>, onFirstAnswers?: () => void): Script<Result> {
  let step = script.next()
  if (!step.done) {
    const answers = yield step.value
    onFirstAnswers?.()
    step = script.next(answers)
  }
  while (!step.done) step = script.next(yield step.value)
  return step.value
}
