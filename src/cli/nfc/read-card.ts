import { type Card, CardGone, type CardReaders } from '../../nfc/card.ts'
import { readTap, type TapRead } from '../../nfc/read-tap.ts'
import { runScript } from '../../nfc/script.ts'
import type { CliContext } from '../context.ts'
import { oneLine } from './errors.ts'
import { againMs, leaves, patientTimes } from './leaves.ts'
import { parametersIn, tapByShape } from './parameters.ts'
import type { OpenedReaders, WaitForChip } from './readers.ts'

/** A tap as commands print it; of a HaLo tag with the parameters of its URL. */
export interface ReadChip extends TapRead {
  readonly reader: string
}

export const familyNames = { ntag424: 'NTAG 424 DNA', halo: 'HaLo' } as const

/** Taps a card: one count. @throws CardError, UnknownCard, ChipError, NdefFormatError */
export const readCard = async (card: Card): Promise<ReadChip> => {
  const tap = await runScript(card, readTap({ atr: card.atr }))
  const { url, family, e } = tap
  const known = { reader: card.reader, ...tap }
  if (url === null) return known
  if (family === 'halo') return { ...known, ...haloParameters(url) }
  return e === null ? { ...known, ...tapByShape(url) } : known
}

/** No others: whoever writes a tag must not choose what else stands in our output. */
const haloNames = new Set(['static', 'pk1', 'pk2', 'rnd', 'rndsig'])
const haloParameters = (url: string) =>
  Object.fromEntries(parametersIn(url).filter(([name]) => haloNames.has(name)))

/**
 * Reads a card; undefined when it was lifted before it had answered: the person is told, and may lay it down again.
 * @throws as readCard
 */
export const readPatiently = async (
  ctx: CliContext,
  all: CardReaders,
  first: Card,
  signal: AbortSignal,
): Promise<ReadChip | undefined> => {
  let card = first
  for (let times = 1; ; times += 1) {
    try {
      return await readCard(card)
    } catch (error) {
      if (!(error instanceof CardGone) || times === patientTimes) throw error
      if (times === 1) ctx.io.warn(`${card.reader}: ${oneLine(error)}`)
    } finally {
      await card.release()
    }
    if (await leaves(card, signal)) return undefined
    card = await all.waitForCard({ reader: card.reader, timeoutMs: againMs, signal })
  }
}

/** Reads the next card that can be read. @throws as readCard, and NoCard */
export const readNextCard = async (
  ctx: CliContext,
  opened: OpenedReaders,
  { timeoutMs, signal }: Required<WaitForChip>,
): Promise<ReadChip> => {
  const end = ctx.now().getTime() + timeoutMs
  for (;;) {
    const left = Math.max(0, end - ctx.now().getTime())
    const card = await opened.nextCard({ timeoutMs: left, signal })
    const chip = await readPatiently(ctx, opened.all, card, signal)
    if (chip !== undefined) return chip
  }
}

/** What is the matter with a chip that shows no tap. */
export const emptiness = ({ family, url, e, c }: ReadChip): string | undefined => {
  if (family === 'halo') return undefined
  if (url === null) return 'The chip shows no URL: it is blank, or its file is not for everybody to read'
  return e === null || c === null
    ? 'The URL of the chip has no tap in it: it was not set up for taps'
    : undefined
}
