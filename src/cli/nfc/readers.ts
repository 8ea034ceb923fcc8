import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Card, CardReaders, ReaderFilter } from '../../nfc/card.ts'
import type { PcscReaders } from '../../nfc/pcsc/readers.ts'
import { text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { Interrupted, UsageError } from '../errors.ts'
import { stateDir } from '../system.ts'
import { chooseReader, fieldsOf } from './choose-reader.ts'
import { asCliError, oneLine } from './errors.ts'

/** The name of the virtual reader, repeated here so that src/nfc/emulator is loaded only when it is used. */
export const EMULATOR = 'emulator'

/** `--reader all`: every reader at once. */
export const ALL = 'all'

export const readerOption = text('--reader <name>', 'The name of the reader or a part of it, or emulator')

/** `--timeout`, or 30 seconds. */
export const cardTimeoutMs = (ctx: CliContext): number => (ctx.flags.timeoutSeconds ?? 30) * 1000

export interface ReaderChoice {
  /** `--reader`. By default, the one that has a card or gets the first. */
  readonly reader: string | undefined
  /** This many new chips on the emulator, one after another, instead of the one that it keeps. */
  readonly blankCards?: number | undefined
}

export interface WaitForChip {
  /** By default, no limit. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** The person knows already that a chip is waited for. */
  readonly isAnnounced?: boolean
}

export interface OpenedReaders {
  readonly isEmulator: boolean
  readonly all: CardReaders
  /**
   * The readers that the command is about: the one that was asked for, or the field of each, also of those that are
   * plugged in later. No other is connected to. @throws CardError, UsageError
   */
  fields(): Promise<ReaderFilter>
  /**
   * The card on the chosen reader, or the next one; meanwhile, hints are printed. A card that stays is returned again:
   * await `card.removed()` first. @throws CardError, UsageError, the reason of the signal
   */
  nextCard(wait?: WaitForChip): Promise<Card>
}

/**
 * Opens readers for a command, and always closes them. Nothing starts before its first use.
 * @throws CliError with exit code 6 or 1 for errors of readers and cards
 */
export const withReaders = async <T>(
  ctx: CliContext,
  choice: ReaderChoice,
  use: (opened: OpenedReaders) => Promise<T>,
): Promise<T> => {
  const isEmulator = choice.reader === EMULATOR
  const all = await (isEmulator ? openEmulator(ctx, choice.blankCards) : openPcsc(ctx))
  const fields = async () => {
    const { reader } = choice
    const isAny = reader === undefined || reader === ALL || isEmulator
    return fieldsOf(isAny ? undefined : chooseReader(await all.list(), reader))
  }
  const opened: OpenedReaders = {
    isEmulator,
    all,
    fields,
    nextCard: async (wait = {}) =>
      isEmulator
        ? all.waitForCard({ ...wait, reader: EMULATOR })
        : waitWithAdvice(ctx, all, choice.reader, wait),
  }
  try {
    return await use(opened)
  } catch (error) {
    throw asCliError(error)
  } finally {
    await all.close()
  }
}

/** The first Ctrl-C aborts the signal, and the command ends with 130; the second ends the process. */
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

const openEmulator = async (ctx: CliContext, blankCards: number | undefined): Promise<CardReaders> => {
  const { EmulatorReaders } = await import('../../nfc/emulator/readers.ts')
  const { isVariantName, VARIANTS } = await import('../../nfc/emulator/variants.ts')
  const file = join(stateDir(ctx.system), 'emulator.json')
  const variant = ctx.system.env.TAPCHIP_EMULATOR || undefined
  if (variant !== undefined && !isVariantName(variant))
    throw new UsageError(
      `TAPCHIP_EMULATOR: "${variant}" is no kind of virtual chip.`,
      `Set it to one of these, or unset it for a plain NTAG 424: ${Object.keys(VARIANTS).join(', ')}.`,
    )
  return new EmulatorReaders({
    file,
    ...(blankCards === undefined ? {} : { blankCards }),
    ...(variant === undefined ? {} : { variant }),
  })
}

/** The caller closes it. Nothing starts before the first call. */
export const openPcsc = async (ctx: CliContext): Promise<PcscReaders> => {
  const { PcscReaders } = await import('../../nfc/pcsc/readers.ts')
  const hostScript = join(dirname(ctx.system.daemonScript()), '../dist/reader-host.cjs')
  const { env, platform } = ctx.system
  return new PcscReaders({ hostScript, env, ...(platform && { platform }) })
}

const waitWithAdvice = async (
  ctx: CliContext,
  all: CardReaders,
  readerName: string | undefined,
  { isAnnounced, ...wait }: WaitForChip,
): Promise<Card> => {
  const list = await all.list()
  const reader = readerName === ALL ? undefined : chooseReader(list, readerName)
  const readers = fieldsOf(reader)
  if (!isAnnounced && list.every((one) => one.state === 'empty' || !readers(one)))
    ctx.io.hint(`Hold a chip to the reader${reader ? ` ${reader}` : ''}…`)
  return all.waitForCard({
    ...wait,
    ...(reader === undefined ? {} : { reader }),
    readers,
    onUnusable: (why) => ctx.io.warn(oneLine(why)),
  })
}

/** Attempts on a card that stopped answering, while it stays on the reader. */
export const maxAttempts = 3
const retryDelayMs = 1_000

/** The same card for another attempt; undefined if it was lifted within a second. @throws as waitForCard */
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
  // The slower one is aborted, and nobody awaits it.
  for (const each of [lifted, stayed]) each.catch(() => undefined)
  try {
    return await Promise.race([lifted, stayed])
  } finally {
    over.abort()
  }
}
