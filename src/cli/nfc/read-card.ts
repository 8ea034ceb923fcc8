import { type Card, CardGone, type CardReaders } from '../../nfc/card.ts'
import { readTap, type TapRead } from '../../nfc/read-tap.ts'
import { runScript } from '../../nfc/script.ts'
import { parametersIn, readTapUrl, whyNoTap as whyUrlHasNoTap } from '../../nfc/tap-url.ts'
import type { CliContext } from '../context.ts'
import { oneLine } from './errors.ts'
import { cardForRetry, maxAttempts, type OpenedReaders, type WaitForChip } from './readers.ts'

/** A tap as commands print it, with the URL parameters of a HaLo tag. */
export interface ReadChip extends TapRead {
  readonly reader: string
}

export const familyNames = { ntag424: 'NTAG 424 DNA', halo: 'HaLo' } as const

/** Counts as a tap. @throws CardError, UnknownCard, ChipError, NdefFormatError */
export const readCard = async (card: Card): Promise<ReadChip> => {
  const tap = await runScript(card, readTap({ atr: card.atr }))
  const { url, family, e } = tap
  const known = { reader: card.reader, ...tap }
  if (url === null) return known
  if (family === 'halo') return { ...known, ...haloParameters(url) }
  return e === null ? { ...known, ...tapByShape(url) } : known
}

/** No others: the author of a tag must not be able to add fields to our output. */
const haloNames = new Set(['static', 'pk1', 'pk2', 'rnd', 'rndsig', 'cmd', 'res'])
const haloParameters = (url: string) =>
  Object.fromEntries(parametersIn(url).filter(([name]) => haloNames.has(name)))

/**
 * Reads a card, and retries if it stopped answering but stayed; undefined if it was lifted, so that it may be put down
 * again. @throws as readCard
 */
export const readWithRetry = async (
  ctx: CliContext,
  all: CardReaders,
  first: Card,
  signal: AbortSignal,
): Promise<ReadChip | undefined> => {
  let card: Card | undefined = first
  for (let attempt = 1; card !== undefined; attempt += 1) {
    try {
      const chip = await readCard(card)
      await card.release()
      return chip
    } catch (error) {
      if (!(error instanceof CardGone) || attempt === maxAttempts) {
        await card.release()
        throw error
      }
      if (attempt === 1) ctx.io.warn(`${card.reader}: ${oneLine(error)}`)
    }
    card = await cardForRetry(all, card, signal)
  }
  return undefined
}

export const readNextCard = async (
  ctx: CliContext,
  opened: OpenedReaders,
  { timeoutMs, signal }: Required<Omit<WaitForChip, 'isAnnounced'>>,
): Promise<ReadChip> => {
  const end = ctx.now().getTime() + timeoutMs
  for (;;) {
    const remainingMs = Math.max(0, end - ctx.now().getTime())
    const card = await opened.nextCard({ timeoutMs: remainingMs, signal })
    const chip = await readWithRetry(ctx, opened.all, card, signal)
    if (chip !== undefined) return chip
  }
}

/** Why a chip shows no tap, in a sentence; undefined if it may. */
export const whyNoTap = ({ family, url }: ReadChip): string | undefined => {
  if (family === 'halo') return undefined
  if (url === null) return 'The chip shows no URL: it is blank, or its file cannot be read without a key.'
  const read = readTapUrl(url)
  return 'problem' in read ? read.problem : whyUrlHasNoTap(read.text, false)
}

/** Of a tap whose URL does not reach the daemon as phones open it. */
export const warningsOf = ({ family, url }: ReadChip): readonly string[] => {
  const read = family === 'halo' || url === null ? undefined : readTapUrl(url)
  return read && 'warnings' in read ? read.warnings : []
}

export interface TapParameters {
  readonly e: string
  readonly c: string
  readonly d: string | null
}

// A chip mirrors in upper case: 16 bytes of encrypted UID and counter (24 in LRP mode), and 8 bytes of MAC.
const isE = (value: string): boolean => /^([0-9A-F]{32}|[0-9A-F]{48})$/.test(value)
const isC = (value: string): boolean => /^[0-9A-F]{16}$/.test(value)
const isD = (value: string): boolean => /^[0-9]{1,10}$/.test(value)

/**
 * Recognizes e, c and d by their form: a key set may rename them, and only the daemon knows how. d is the number before
 * c. undefined if there is no tap, or it is ambiguous.
 */
export const tapByShape = (url: string): TapParameters | undefined => {
  const values = parametersIn(url).map(([, value]) => value)
  const [e, c] = [values.filter(isE), values.filter(isC)]
  if (e.length !== 1 || c.length !== 1 || e[0] === undefined || c[0] === undefined) return undefined
  const numbers = values.slice(0, values.indexOf(c[0])).filter(isD)
  return { e: e[0], c: c[0], d: numbers.at(-1) ?? null }
}
