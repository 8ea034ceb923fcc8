import { findBatch } from '../../batch/copies.ts'
import { resumeBatch } from '../../batch/engine.ts'
import { concurrencyFlag, rateFlag, sheetFlags } from '../../batch/input/flags.ts'
import { assertSameDaemon } from '../../batch/instance.ts'
import { kinds } from '../../batch/kinds.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import { CliError } from '../../errors.ts'
import { readerOption } from '../../nfc/readers.ts'
import { batchArgument } from './summary.ts'

const { format, map, ignoreColumns } = sheetFlags

export const resume = defineCommand({
  name: 'resume',
  summary: 'Resume a batch that stopped: its rows without a result',
  description:
    'Resume a batch that stopped: its rows without a result. A batch that another machine began is continued here, ' +
    'from the copy of its journal that the daemon keeps.',
  examples: [
    'batch resume b_1hq3v9k7s2m4xa',
    'batch resume b_1hq3v9k7s2m4xa --retry-failed --json',
    'batch resume b_1hq3v9k7s2m4xa --take-over',
  ],
  args: batchArgument,
  options: {
    takeOver: flag(
      '--take-over',
      'Take it over at once, also if another machine gave a sign of life in the last 20 s',
    ),
    retryFailed: flag('--retry-failed', 'Also retry the failed rows'),
    file: text('-f, --file <file>', 'The same input again, if it came from standard input', 'file'),
    format,
    map,
    ignoreColumns,
    ...rateFlag,
    ...concurrencyFlag,
    reader: readerOption,
    yes,
  },
  run: async (ctx, { args, options }) => {
    const { kind, history } = await findBatch(ctx, args.id, kinds)
    const { header, copy } = history
    const isAlive = history.status === 'running'
    // Where the daemon hears nothing of it, its process id belongs to another program now.
    if (isAlive && copy?.state !== 'stopped' && !options.yes && !options.takeOver) {
      throw new CliError(`Batch ${header.id} is still running, as process ${header.pid}.`, {
        advice: 'If that process is now another program: --yes',
      })
    }
    await assertSameDaemon(ctx, header)
    return resumeBatch(ctx, kind, history, options)
  },
})
