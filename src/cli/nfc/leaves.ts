import { setTimeout as delay } from 'node:timers/promises'
import type { Card } from '../../nfc/card.ts'

/** A card that did not answer is tried again where it lies there still, after so long and so often. */
export const againMs = 1_000
export const patientTimes = 3

/** Whether a card leaves its reader within a second. */
export const leaves = async (card: Card, signal: AbortSignal): Promise<boolean> => {
  const enough = new AbortController()
  const both = AbortSignal.any([signal, enough.signal])
  const left = card.removed({ signal: both }).then(() => true)
  const late = delay(againMs, false, { signal: both })
  // Whichever is last is aborted, and nobody waits for it.
  for (const each of [left, late]) each.catch(() => undefined)
  try {
    return await Promise.race([left, late])
  } finally {
    enough.abort()
  }
}
