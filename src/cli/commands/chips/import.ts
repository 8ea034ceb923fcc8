import { openFailedFile } from '../../batch/failed-file.ts'
import { asSettings, batchFlags, sheetOptions } from '../../batch/input/flags.ts'
import { inputOf, openSource } from '../../batch/input/source.ts'
import { runImport } from '../../batch/kinds/import.ts'
import { importSheet, readImport } from '../../batch/kinds/import-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, integer, team, text, yes } from '../../command/options.ts'
import { exitCodes } from '../../errors.ts'
import { chooseGroup } from '../chip-groups/group.ts'
import { chooseKeySet } from '../key-sets/choose.ts'

export const importChips = defineCommand({
  name: 'import',
  summary: 'Register chips from a file',
  description:
    'Register chips from a file with the column uid and, as needed, label, redirectUrl, item, variant, ' +
    'contractAddress, chainId, tokenId, lastCounter (of chips already in the field), fileReadKey (of a key set that ' +
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
    simulated: flag('--simulated', 'The chips exist only in software: taps simulate works on them'),
    team,
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const file = await ctx.prompts.text(options.file, { flag: '--file', message: 'File with the chips' })
    const read = sheetOptions(options, importSheet)
    const failedFile = openFailedFile(ctx, options.failed, file, read)
    const chipGroup = await chooseGroup(ctx, options.chipGroup, options.team)
    const source = openSource(ctx.system, file)
    const sheet = await readImport(source, read, options.yes, failedFile?.reading)
    if (sheet.rows === 0) {
      ctx.io.note(`${source.name} has no rows. Nothing to do.`)
      return exitCodes.done
    }
    const keySet = sheet.needKeySet > 0 ? await chooseKeySet(ctx, options.keySet) : options.keySet
    return runImport(ctx, {
      input: inputOf(source),
      sheet,
      settings: { team: options.team, chipGroup, keySet, simulated: options.simulated },
      sheetSettings: asSettings(options),
      rate: options.rate,
      failedFile,
    })
  },
})
