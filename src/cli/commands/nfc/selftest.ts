import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { CardError } from '../../../nfc/card.ts'
import { ProvisionError } from '../../../nfc/provision/errors.ts'
import type { TranscriptLine } from '../../../nfc/transcript.ts'
import { isText, parseObject } from '../../../values/json.ts'
import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { counted, shellQuoted } from '../../io/text.ts'
import { cardTimeoutMs, readerOption, withReaders } from '../../nfc/readers.ts'
import { unlessAborted, withStop } from '../../nfc/stop.ts'

export const selftest = defineCommand({
  name: 'selftest',
  summary: 'Run every command on a real reader and a blank chip, and record the answers',
  description:
    'Run every command that Tapchip uses on a blank chip, which is blank again afterwards, and write a transcript ' +
    'without secrets. --replay does the same on the virtual chip and says where a transcript differs from it: this ' +
    'helps us support hardware that we cannot test.',
  examples: [
    'nfc selftest --output acr1252.jsonl',
    'nfc selftest --replay acr1252.jsonl',
    'nfc selftest --reader emulator --output virtual.jsonl',
  ],
  options: {
    output: text('--output <file>', 'File for the transcript', 'file'),
    replay: text('--replay <file>', 'Compare a transcript with the virtual chip', 'file'),
    reader: readerOption,
  },
  run: async (ctx, { options }) => {
    const { output, replay, reader } = options
    if ((output === undefined) === (replay === undefined))
      throw new UsageError('Use either --output FILE or --replay FILE.')
    if (replay !== undefined) return replayed(ctx, replay)
    return recorded(ctx, output ?? '', reader)
  },
})

const pathOf = (ctx: CliContext, file: string): string =>
  file.startsWith('/') ? file : `${ctx.system.cwd}/${file}`

const recorded = (ctx: CliContext, output: string, reader: string | undefined): Promise<ExitCode> =>
  withStop(ctx, async (stop) => {
    await ctx.beforeChange(`Would run the self-test, and write ${output}`)
    const { selftest: steps } = await import('../../../nfc/selftest.ts')
    const { runScript } = await import('../../../nfc/script.ts')
    return withReaders(ctx, { reader }, async (opened) => {
      const card = await opened.nextCard({ timeoutMs: cardTimeoutMs(ctx), signal: stop.now })
      const file = openSync(pathOf(ctx, output), 'w', 0o600)
      let lines = 0
      // Written line by line, so that a chip that is lifted leaves a transcript too.
      const note = (line: TranscriptLine): void => {
        lines += 1
        writeSync(file, `${JSON.stringify(line)}\n`)
      }
      try {
        const script = steps({ random: randomBytes, note, atr: card.atr })
        const good = await unlessAborted(runScript(card, script), stop.late)
        await ctx.io.one({ passed: good, lines, output }, () => ({
          Passed: good,
          Lines: lines,
          Transcript: output,
        }))
        ctx.io.hint(`Compare it with the virtual chip: tapchip nfc selftest --replay ${shellQuoted(output)}`)
        return good ? exitCodes.done : exitCodes.failed
      } catch (error) {
        throw inAdvice(error)
      } finally {
        closeSync(file)
        await card.release()
      }
    })
  })

const inAdvice = (error: unknown): unknown => {
  if (error instanceof ProvisionError)
    return new CliError(`${error.message}.`, { advice: `${error.advice}.` })
  if (error instanceof CliError || error instanceof CardError || !(error instanceof Error)) return error
  return new CliError(`${error.message}.`, {
    advice: 'The chip may be half set up. Put it down again: the next self-test resets it.',
    cause: error,
  })
}

const replayed = async (ctx: CliContext, file: string): Promise<ExitCode> => {
  const lines = readTranscript(ctx, file)
  const { replaySelftest } = await import('../../../nfc/selftest.ts')
  const differences = await replaySelftest(lines)
  await ctx.io.list(
    differences.map((difference) => ({ difference })),
    { DIFFERENCE: ({ difference }) => difference },
    `All ${counted(lines.length, 'line')} match the virtual chip.`,
  )
  return differences.length === 0 ? exitCodes.done : exitCodes.failed
}

const readTranscript = (ctx: CliContext, file: string): TranscriptLine[] => {
  let content: string
  try {
    content = readFileSync(pathOf(ctx, file), 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const rows = content.split('\n').filter((line) => line.trim() !== '')
  const lines = rows.map(lineFrom)
  const bad = lines.indexOf(undefined)
  if (bad < 0 && rows.length > 0) return lines.filter((line) => line !== undefined)
  throw new UsageError(
    `${file} is not a transcript of a self-test${bad < 0 ? '' : `: line ${bad + 1} is invalid`}.`,
    'Record one: tapchip nfc selftest --output FILE',
  )
}

const lineFrom = (text: string): TranscriptLine | undefined => {
  const line = parseObject(text)
  if (!isText(line?.step)) return undefined
  const { step, command, answer, value, error } = line
  if (isText(command) && isText(answer)) return { step, command, answer }
  if (isText(value)) return { step, value }
  return isText(error) ? { step, error } : undefined
}
