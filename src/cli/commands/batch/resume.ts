import { resumeBatch } from '../../batch/engine.ts'
import { readBatch } from '../../batch/history.ts'
import { rateFlag, sheetFlags } from '../../batch/input/flags.ts'
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
  examples: ['batch resume b_1hq3v9k7s2m4xa', 'batch resume b_1hq3v9k7s2m4xa --retry-failed --json'],
  args: batchArgument,
  options: {
    retryFailed: flag('--retry-failed', 'Also retry the failed rows'),
    file: text('-f, --file <file>', 'The same input again, if it came from standard input', 'file'),
    format,
    map,
    ignoreColumns,
    ...rateFlag,
    reader: readerOption,
    yes,
  },
  run: async (ctx, { args, options }) => {
    const { kind, history } = await readBatch(ctx.system, args.id, kinds)
    const { header } = history
    if (history.status === 'running' && !options.yes) {
      throw new CliError(`Batch ${header.id} is still running, as process ${header.pid}.`, {
        advice: 'If that process is now another program: --yes',
      })
    }
    await assertSameDaemon(ctx, header)
    return resumeBatch(ctx, kind, history, options)
  },
})
