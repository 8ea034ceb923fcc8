import { failedFlag } from '../../batch/failed-file.ts'
import { columns, needed, readImport } from '../../batch/import-input.ts'
import { runImport } from '../../batch/import-run.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { openSource } from '../../batch/input/source.ts'
import { rateFlag } from '../../batch/pace.ts'
import { chooseGroup } from '../../chip-group.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, integer, team, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes } from '../../errors.ts'

export const importChips = defineCommand({
  name: 'import',
  summary: 'Register chips from a file',
  description:
    'Register chips from a file with the column uid and, as needed, label, redirectUrl, item, variant, ' +
    'contractAddress, chainId, tokenId, lastCounter (of chips already in the field), fileReadKey (of a key set that ' +
    'is listed) and publicKey (of HaLo chips). The whole file is checked before the first row is written. ' +
    'A chip that is there already stays as it is.',
  examples: [
    'chips import --file chips.csv --chip-group Jackets --key-set 101',
    'chips import --file chips.csv --chip-group Jackets --key-set 101 --failed again.csv --rate 500',
    'chips import --file order.csv --map uid=TagID --ignore-columns --chip-group Jackets --key-set 101',
    'cat chips.jsonl | tapchip chips import --file - --chip-group Jackets --key-set 101 --json',
  ],
  options: {
    chipGroup: text('--chip-group <name|id>', 'The chip group; one that is missing is made', 'chip-group'),
    keySet: integer('--key-set <id>', 'The key set that the chips verify under', [0, 0xffffffff], 'key-set'),
    ...sheetFlags,
    ...rateFlag,
    ...failedFlag,
    simulated: flag('--simulated', 'These chips exist in software alone: taps simulate works on them'),
    team,
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const file = await ctx.prompts.text(options.file, { flag: '--file', message: 'File with the chips' })
    const chipGroup = await chooseGroup(ctx, options.chipGroup, options.team)
    const source = openSource(ctx.at, file)
    const sheet = await readImport(source, sheetOptions(options, columns, needed), options.yes)
    if (sheet.rows === 0) {
      ctx.io.note(`${source.name} holds no rows. Nothing to do.`)
      return exitCodes.done
    }
    const keySet = sheet.needKeySet > 0 ? await chooseKeySet(ctx, options.keySet) : options.keySet
    return runImport(ctx, {
      input: { name: source.name, path: source.path ?? null, sha256: source.sha256() },
      sheet,
      settings: { team: options.team, chipGroup, keySet, simulated: options.simulated },
      sheetSettings: {
        ...(options.format === undefined ? {} : { format: options.format }),
        ...(options.map.length === 0 ? {} : { map: options.map.join('\n') }),
        ...(options.ignoreColumns === undefined
          ? {}
          : { ignoreColumns: options.ignoreColumns === true ? '*' : options.ignoreColumns }),
      },
      dryRun: ctx.flags.dryRun,
      rate: options.rate,
      failedFile: options.failed,
    })
  },
})

const chooseKeySet = async (ctx: CliContext, given: number | undefined): Promise<number> =>
  Number(
    await ctx.prompts.choice(given === undefined ? undefined : String(given), {
      flag: '--key-set',
      message: 'Which key set?',
      choices: async () =>
        (await ctx.call('GET /admin/key-sets')).map(({ id, diversification }) => ({
          name: `${id} (${diversification})`,
          value: String(id),
        })),
    }),
  )
