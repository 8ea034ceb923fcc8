import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Card, type CardReaders, NoCard } from '../../nfc/card.ts'
import type { PcscReaders } from '../../nfc/pcsc/readers.ts'
import { text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { Interrupted } from '../errors.ts'
import { stateDir } from '../system.ts'
import { chooseReader } from './choose-reader.ts'
import { asCliError } from './errors.ts'

/** What `--reader` takes for the virtual card. As src/nfc/emulator names it, which is loaded when it is wanted. */
export const EMULATOR = 'emulator'

export const readerOption = text('--reader <name>', 'The reader, by its name or a part of it, or emulator')

/** How long to wait for a card: `--timeout`, or half a minute. */
export const cardTimeoutMs = (ctx: CliContext): number => (ctx.flags.timeoutSeconds ?? 30) * 1000

export interface ReaderChoice {
  /** `--reader`. Without it: the one that has a card, or gets the first. */
  readonly reader: string | undefined
  /** So many new chips on the emulator, one after another, instead of the one that it keeps. */
  readonly fresh?: number | undefined
}

export interface WaitForChip {
  /** Default: for ever. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** The readers for one command. */
export interface OpenedReaders {
  readonly isEmulator: boolean
  readonly all: CardReaders
  /** The whole name of the reader that was asked for; undefined when none was. @throws CardError, UsageError */
  wanted(): Promise<string | undefined>
  /**
   * The card on the chosen reader, or the next one; a person is told what to do meanwhile. One that lies there still
   * is given again: await `card.removed()` first. @throws CardError, UsageError, what the signal was aborted with
   */
  nextCard(wait?: WaitForChip): Promise<Card>
}

/**
 * Opens readers for a command, and closes them whatever happens. Nothing is started before they are asked for.
 * @throws CliError: what stands between us and a card ends with 6 or 1, and advice
 */
export const withReaders = async <T>(
  ctx: CliContext,
  choice: ReaderChoice,
  use: (opened: OpenedReaders) => Promise<T>,
): Promise<T> => {
  const isEmulator = choice.reader === EMULATOR
  const all = await (isEmulator ? openEmulator(ctx, choice.fresh) : openPcsc(ctx))
  const wanted = async () =>
    choice.reader === undefined || isEmulator ? choice.reader : chooseReader(await all.list(), choice.reader)
  const opened: OpenedReaders = {
    isEmulator,
    all,
    wanted,
    nextCard: async (wait = {}) =>
      isEmulator
        ? all.waitForCard({ ...wait, reader: EMULATOR })
        : waitWithAdvice(ctx, all, chooseReader(await all.list(), choice.reader), wait),
  }
  try {
    return await use(opened)
  } catch (error) {
    throw asCliError(error)
  } finally {
    await all.close()
  }
}

/** The first Ctrl-C ends what is waited for, and the command with 130; the second ends the process. */
export const untilInterrupted = async <T>(
  ctx: CliContext,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const interrupted = new AbortController()
  const unlisten = ctx.system.interrupts.listen(() => interrupted.abort(new Interrupted()))
  try {
    return await run(interrupted.signal)
  } finally {
    unlisten()
  }
}

const openEmulator = async (ctx: CliContext, fresh: number | undefined): Promise<CardReaders> => {
  const { EmulatorReaders } = await import('../../nfc/emulator/readers.ts')
  const file = join(stateDir(ctx.system), 'emulator.json')
  return new EmulatorReaders({ file, ...(fresh === undefined ? {} : { fresh }) })
}

/** The caller closes it. Nothing is started before the first call. */
export const openPcsc = async (ctx: CliContext): Promise<PcscReaders> => {
  const { PcscReaders } = await import('../../nfc/pcsc/readers.ts')
  const hostScript = join(dirname(ctx.system.daemonScript()), '../dist/reader-host.cjs')
  return new PcscReaders({ hostScript, env: ctx.system.env })
}

/** How often it is looked whether something lies there that cannot be talked to. The list is at hand: it costs nothing. */
const pollMs = 400

const waitWithAdvice = async (
  ctx: CliContext,
  all: CardReaders,
  reader: string | undefined,
  wait: WaitForChip,
): Promise<Card> => {
  const over = new AbortController()
  void advise(ctx, all, reader, over.signal).catch(() => undefined)
  try {
    return await all.waitForCard({ ...wait, ...(reader === undefined ? {} : { reader }) })
  } finally {
    over.abort()
  }
}

const advise = async (
  ctx: CliContext,
  all: CardReaders,
  wanted: string | undefined,
  over: AbortSignal,
): Promise<void> => {
  const state = async () => {
    const readers = (await all.list()).filter(({ name }) => wanted === undefined || name === wanted)
    return (
      readers.find((reader) => reader.state !== 'empty')?.state ?? (readers.length > 0 ? 'empty' : 'none')
    )
  }
  if ((await state()) === 'empty') ctx.io.hint(`Hold a chip to the reader${wanted ? ` ${wanted}` : ''}…`)
  let before = ''
  let told = ''
  while (!over.aborted) {
    await delay(pollMs, undefined, { signal: over })
    const now = await state()
    // A card that is just laid down may be silent for a moment.
    if ((now === 'mute' || now === 'in-use') && now === before && now !== told) {
      const { message, advice } = new NoCard(now)
      ctx.io.warn(`${message}. ${advice}.`)
      told = now
    }
    before = now
  }
}

/** A card that stopped answering is tried so often as long as it stays on the reader. */
export const maxAttempts = 3
const retryDelayMs = 1_000

/** The same card, to be tried again; undefined where it was lifted within a second. @throws as waitForCard */
export const cardForRetry = async (
  all: CardReaders,
  card: Card,
  signal: AbortSignal,
): Promise<Card | undefined> => {
  await card.release()
  return (await isLifted(card, signal))
    ? undefined
    : all.waitForCard({ reader: card.reader, timeoutMs: retryDelayMs, signal })
}

const isLifted = async (card: Card, signal: AbortSignal): Promise<boolean> => {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const lifted = card.removed({ signal: either }).then(() => true)
  const stayed = delay(retryDelayMs, false, { signal: either })
  // The slower one is aborted, and nobody waits for it.
  for (const each of [lifted, stayed]) each.catch(() => undefined)
  try {
    return await Promise.race([lifted, stayed])
  } finally {
    over.abort()
  }
}
