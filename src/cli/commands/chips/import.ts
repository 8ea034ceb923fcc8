import { batchFlags, runFlags } from '../../batch/input/flags.ts'
import { chipsImport } from '../../batch/kinds/chips-import.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, integer, team, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { clean, shellQuoted } from '../../io/text.ts'
import { chooseGroup } from '../chip-groups.ts'
import { chooseKeySet } from '../key-sets.ts'

export const importChips = defineCommand({
  name: 'import',
  summary: 'Register chips from a file',
  description:
    'Register chips from a file with the column uid and, as needed, label, redirectUrl, item, variant, ' +
    'contractAddress, chainId, tokenId, lastCounter (of chips already in the field), fileReadKey and metaReadKey (of a key set that ' +
    'is listed) and publicKey (of HaLo chips). The whole file is checked before the first row is written. ' +
    'Chips that already exist are left unchanged.',
  examples: [
    'chips import --file chips.csv --chip-group Jackets --key-set 101',
    'chips import --file chips.csv --chip-group Jackets --key-set 101 --failed again.csv --rate 500',
    'chips import --file order.csv --map uid=TagID --ignore-columns --chip-group Jackets --key-set 101',
    'cat chips.jsonl | tapchip chips import --file - --chip-group Jackets --key-set 101 --json',
  ],
  options: {
    chipGroup: text(
      '--chip-group <name|id>',
      'The chip group, which is created if it does not exist',
      'chip-group',
    ),
    keySet: integer('--key-set <id>', 'The key set that verifies the chips', [0, 0xffffffff], 'key-set'),
    ...batchFlags,
    ...runFlags,
    simulated: flag('--simulated', 'The chips exist only in software: taps simulate works on them'),
    team,
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const file = await ctx.prompts.text(options.file, { flag: '--file', message: 'File with the chips' })
    const { team, simulated } = options
    const chipGroup = await chooseGroup(ctx, options.chipGroup, team)
    const rows = { needKeySet: 0 }
    return runSheet(ctx, chipsImport(rows), file, options, {
      settings: async () => {
        const keySet = rows.needKeySet > 0 ? await chooseKeySet(ctx, options.keySet) : options.keySet
        return { chipGroup, keySet, simulated }
      },
      ended: async ({ batch }) => {
        if (batch && batch.failed === batch.total) await reportEmptyGroup(ctx, chipGroup, team)
      },
    })
  },
})

/** The group is created before the first row, and stays if every row fails: tell the user where it came from. */
const reportEmptyGroup = async (
  ctx: CliContext,
  chipGroup: string,
  team: string | undefined,
): Promise<void> => {
  // This is only a courtesy, so errors are ignored.
  const groups = await ctx.call('GET /admin/chip-groups', { query: { team } }).catch(() => [])
  if (groups.find(({ name }) => name === chipGroup)?.chips !== 0) return
  ctx.io.note(
    `The chip group "${clean(chipGroup)}" was created, and is empty. Remove it: tapchip chip-groups remove ${shellQuoted(chipGroup)}`,
  )
}
