import type { Card } from '../../nfc/card.ts'
import type { CliContext } from '../context.ts'
import { oneLine } from './errors.ts'
import { EMULATOR, type OpenedReaders } from './readers.ts'

export interface WatchOptions {
  /** On the emulator: how often the kept card is presented. */
  readonly times: number
  readonly signal: AbortSignal
  /** Called for each card, of several readers at once. If it throws, the watch ends. */
  onCard(card: Card): Promise<void>
}

/**
 * Calls back for each card until the signal is aborted. @throws ReaderUnavailable if there is no service at the start
 */
export const watchReaders = async (
  ctx: CliContext,
  opened: OpenedReaders,
  watching: WatchOptions,
): Promise<void> => {
  if (opened.isEmulator) return presentKeptCard(opened, watching)
  const { signal, onCard } = watching
  const readers = await opened.fields()
  const failed = new AbortController()
  const over = AbortSignal.any([signal, failed.signal])
  const running = new Set<Promise<void>>()
  const printMessages = readerMessages(ctx, (await opened.all.list()).filter(readers).length)
  for await (const event of opened.all.events({ signal: over, readers })) {
    if (event.type === 'unavailable') printMessages.away(oneLine(event.error))
    else if (event.type === 'reader-added') printMessages.added(event.reader)
    else if (event.type === 'reader-removed') printMessages.removed(event.reader)
    else if (event.type === 'card-unusable') ctx.io.warn(`${event.reader}: ${oneLine(event.why)}`)
    else if (event.type === 'card') {
      const done: Promise<void> = onCard(event.card)
        .catch((error: unknown) => failed.abort(error))
        .finally(() => running.delete(done))
      running.add(done)
    }
  }
  // Cards that are being read are finished.
  await Promise.all(running)
  failed.signal.throwIfAborted()
}

/** Messages about readers that come and go. */
const readerMessages = (ctx: CliContext, readers: number) => {
  let isAway = false
  let quietAdditions = readers
  if (readers === 0) ctx.io.note('There is no NFC reader yet. Plug one in.')
  return {
    away: (why: string) => {
      isAway = true
      ctx.io.warn(`${why} The command continues as soon as it is back.`)
    },
    added: (reader: string) => {
      const isFirst = quietAdditions > 0
      quietAdditions -= 1
      if (isFirst) ctx.io.hint(`Hold chips to the reader ${reader}…`)
      else ctx.io.note(`The reader ${reader} is ${isAway ? 'back' : 'connected'}.`)
    },
    removed: (reader: string) => ctx.io.note(`The reader ${reader} is disconnected.`),
  }
}

/** Nobody stands at the emulator: its card is presented automatically, and then nothing more happens. */
const presentKeptCard = async (
  { all }: OpenedReaders,
  { times, signal, onCard }: WatchOptions,
): Promise<void> => {
  for (let i = 0; i < times && !signal.aborted; i += 1) {
    const card = await all.waitForCard({ reader: EMULATOR, signal })
    await onCard(card)
    await card.removed()
  }
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
