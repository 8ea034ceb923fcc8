import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes } from '../../errors.ts'
import { printOutcome, workOnChip } from '../../nfc/one-chip.ts'
import { readerOption } from '../../nfc/readers.ts'
import { bothForms } from '../../uid.ts'

export const recover = defineCommand({
  name: 'recover',
  summary: 'Bring a chip that was lifted too early to the end of its set-up or reset',
  description:
    'Bring a chip that was lifted in the middle to the end of what was begun on it: the daemon has written down ' +
    'which keys it may have, and none is guessed. --list shows the chips that are not finished. ' +
    '--timeout says how long to wait for the chip (default: 30 seconds).',
  examples: ['nfc recover', 'nfc recover --list', 'nfc recover --json | jq -r .status'],
  options: {
    list: flag('--list', 'Show which chips are not finished, and touch none'),
    reader: readerOption,
  },
  run: async (ctx, { options }) => {
    if (options.list) return listOpen(ctx)
    const outcome = await workOnChip(ctx, { reader: options.reader }, { purpose: 'recover' })
    return printOutcome(ctx, outcome)
  },
})

const listOpen = async (ctx: CliContext) => {
  const plans = await ctx.call('GET /admin/nfc/journal')
  await ctx.io.list(
    plans,
    {
      UID: ({ uid }) => bothForms(uid),
      WHAT: ({ purpose }) => purpose,
      'KEY SET': ({ target }) => (target === 'factory' ? '-' : target.keySet),
      SINCE: ({ openedAt }) => openedAt,
      BY: ({ openedBy }) => openedBy,
      PROBLEM: ({ problem }) => problem,
    },
    'No chip is unfinished.',
  )
  return exitCodes.done
}
