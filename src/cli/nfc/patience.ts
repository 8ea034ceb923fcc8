import { setTimeout as delay } from 'node:timers/promises'
import { type Card, CardGone, NoCard } from '../../nfc/card.ts'
import type { CliContext } from '../context.ts'
import type { OpenedReaders } from './readers.ts'
import { type Order, type Outcome, type Relay, relay } from './relay.ts'

/** A card that did not answer is tried again where it lies there still, after so long and so often. */
const againMs = 1_000
const patientTimes = 3

/**
 * As relay, but a card that lost its field for a moment and lies there still is gone on with: the daemon knows where
 * it was. @throws as relay; CardGone when it was lifted
 */
export const relayPatiently = async (
  ctx: CliContext,
  { all }: Pick<OpenedReaders, 'all'>,
  first: Card,
  order: Order,
  options: Relay,
): Promise<Outcome> => {
  let card = first
  for (let times = 1; ; times += 1) {
    try {
      return await relay(ctx, card, order, options)
    } catch (error) {
      if (!(error instanceof CardGone) || times === patientTimes) throw error
      await card.release()
      const { now } = options.stop
      if (now.aborted || (await leaves(card, now))) throw error
      card = await all
        .waitForCard({ reader: card.reader, timeoutMs: againMs, signal: now })
        .catch((later: unknown) => {
          throw later instanceof NoCard ? error : later
        })
    }
  }
}

/** Whether the card leaves its reader within a second. */
const leaves = async (card: Card, signal: AbortSignal): Promise<boolean> => {
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
