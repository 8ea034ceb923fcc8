import { type Card, type CardReaders, NoCard } from '../../../nfc/card.ts'
import { ApiError, DaemonUnreachable } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, integer } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { describeError } from '../../errors.ts'
import { shown } from '../../io/text.ts'
import { oneLine } from '../../nfc/errors.ts'
import { describeUid, judge, type Verdict } from '../../nfc/judge.ts'
import { type ReadChip, readWithRetry, whyNoTap } from '../../nfc/read-card.ts'
import { readerOption, untilInterrupted, withReaders } from '../../nfc/readers.ts'
import { watchReaders } from '../../nfc/watch-readers.ts'

export const watch = defineCommand({
  name: 'watch',
  summary: 'Read every chip that is held to a reader, until interrupted',
  description:
    'Read every chip that is held to a reader, of all readers at once, until interrupted: one line per tap. ' +
    'If the reader service stops, the command continues as soon as it is back. ' +
    'With --timeout, it ends with exit code 6 if no chip comes for that long.',
  examples: ['nfc watch', 'nfc watch --verify', 'nfc watch --json | jq -r .url', 'nfc watch --count 10'],
  options: {
    reader: readerOption,
    verify: flag('--verify', 'Send each tap to the daemon, which uses it up, and print the verdict'),
    count: integer('--count <n>', 'Stop after this many taps', [1, Number.MAX_SAFE_INTEGER]),
  },
  run: (ctx, { options }) =>
    untilInterrupted(ctx, (interrupted) =>
      withReaders(ctx, { reader: options.reader }, async (opened) => {
        const ended = new AbortController()
        const signal = AbortSignal.any([interrupted, ended.signal])
        const idleTimer = startIdleTimer(ctx, () => ended.abort(new NoCard()))
        let remaining = options.count ?? Number.POSITIVE_INFINITY
        const onCard = async (card: Card) => {
          idleTimer.restart()
          const chip = await readOrWarn(ctx, opened.all, card, signal)
          if (chip === undefined || remaining <= 0) return
          remaining -= 1
          await (options.verify ? printVerdict(ctx, chip) : printTap(ctx, chip))
          if (remaining === 0) ended.abort()
        }
        ctx.io.note('Waiting for chips. Press Ctrl-C to stop.')
        try {
          await watchReaders(ctx, opened, { times: options.count ?? 1, signal, onCard })
        } finally {
          idleTimer.end()
        }
        interrupted.throwIfAborted()
        if (ended.signal.reason instanceof NoCard) throw ended.signal.reason
      }),
    ),
})

/** Ends the command if no card comes within `--timeout`. */
const startIdleTimer = (ctx: CliContext, late: () => void) => {
  const seconds = ctx.flags.timeoutSeconds
  const start = () => (seconds === undefined ? undefined : setTimeout(late, seconds * 1000))
  let clock = start()
  const end = () => clearTimeout(clock)
  const restart = () => {
    end()
    clock = start()
  }
  return { restart, end }
}

/** A card that cannot be read causes a warning; the next one may work. */
const readOrWarn = async (
  ctx: CliContext,
  all: CardReaders,
  card: Card,
  signal: AbortSignal,
): Promise<ReadChip | undefined> => {
  try {
    return await readWithRetry(ctx, all, card, signal)
  } catch (error) {
    if (!signal.aborted) ctx.io.warn(`${card.reader}: ${oneLine(error)}`)
    return undefined
  }
}

const printTap = async (ctx: CliContext, chip: ReadChip): Promise<void> => {
  await ctx.io.line(chip, () => [shown(chip.reader), chip.family, shown(chip.url)].join('\t'))
  const empty = whyNoTap(chip)
  if (empty !== undefined) ctx.io.note(`${chip.reader}: ${empty}`)
}

/** Without a verdict, `isValidTap` is null and `error` gives the reason. */
type VerdictOrError = Verdict | { readonly uid: null; readonly isValidTap: null; readonly error: string }

const printVerdict = async (ctx: CliContext, chip: ReadChip): Promise<void> => {
  const verdict = await judgeOrReport(ctx, chip)
  const word = verdict.isValidTap === null ? 'not judged' : verdict.isValidTap ? 'valid' : 'NOT VALID'
  const uid = verdict.uid === null ? '-' : describeUid(verdict)
  await ctx.io.line({ ...chip, ...verdict }, () =>
    [shown(chip.reader), chip.family, word, uid, shown(chip.url)].join('\t'),
  )
  if ('error' in verdict) ctx.io.note(`${chip.reader}: ${verdict.error}`)
}

const judgeOrReport = async (ctx: CliContext, chip: ReadChip): Promise<VerdictOrError> => {
  const empty = whyNoTap(chip)
  if (empty !== undefined) return { uid: null, isValidTap: false, error: empty }
  try {
    return await judge(ctx, chip)
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof DaemonUnreachable)) throw error
    return { uid: null, isValidTap: null, error: describeError(error).lines.join(' ') }
  }
}
