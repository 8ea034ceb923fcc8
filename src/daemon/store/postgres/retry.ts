import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseUnavailable } from '../database/database.ts'
import { trackRequests, WaitBudget, waitBudgetOfRequest } from '../database/wait-budget.ts'
import { isConflict, isStale, isUnprepared } from './servers.ts'

const maxWaitMs = 250

/** Delays grow, and are random so that conflicting work does not collide again. */
const pause = (attempt: number): Promise<void> => delay(Math.random() * Math.min(maxWaitMs, 4 * 2 ** attempt))

/** @returns true if a retry may succeed, because nothing was done */
export function mayPass(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return !error.isOutcomeUnknown && !error.isRefused
  return isConflict(error) || isStale(error) || isUnprepared(error)
}

// Shared by the whole process, since it has a single database.
let conflicts = 0
let lostConnections = 0
export const repeated = () => ({ conflicts, lostConnections })

/**
 * Retries within the request's time budget.
 * @param once receives how long it may wait for an answer, and until when it may be retried
 * @param mayRepeat of an error
 * @throws its last error
 */
export async function tried<T>(
  once: (leftMs: number, until: number) => Promise<T>,
  mayRepeat: (error: unknown) => boolean = mayPass,
): Promise<T> {
  const began = performance.now()
  const waitBudget = waitBudgetOfRequest() ?? new WaitBudget()
  const until = began + waitBudget.leftMs()
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await once(waitBudget.leftMs(), until)
    } catch (error) {
      if (isConflict(error)) conflicts += 1
      else if (error instanceof DatabaseUnavailable) {
        lostConnections += 1
        waitBudget.countLost(began)
        trackRequests()
      }
      if (!mayRepeat(error) || performance.now() > until) throw error
      await pause(attempt)
    }
  }
}
