import { asSettings, sheetFlags } from '../../batch/input/flags.ts'
import { openSource, type Source } from '../../batch/input/source.ts'
import { ofEarlierVersion, oldJournal } from '../../batch/old-journals.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, integer, team, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { withBoard } from '../../nfc/board.ts'
import { provisionBox, readRows, resumeBox } from '../../nfc/box.ts'
import { type BoxView, lines } from '../../nfc/box-view.ts'
import type { ChipRow } from '../../nfc/chip-rows.ts'
import { ownersKeys } from '../../nfc/owners-keys.ts'
import { ALL, readerOption } from '../../nfc/readers.ts'
import { readBox } from '../../nfc/saved-box.ts'
import { chooseGroup } from '../chip-groups.ts'
import { chooseKeySet } from '../key-sets.ts'

export const provision = defineCommand({
  name: 'provision',
  summary: 'Set up chips with keys, URL and locks, and register them',
  description:
    'Set up one chip or a box of them: each gets the keys of the key set, its URL and its locks, is read back, and ' +
    'is registered in the group. The keys stay in the daemon. With --count or --file, one chip follows another; the ' +
    'columns label, item, variant and redirectUrl say what each gets, and only a chip that succeeds uses up a ' +
    'row. A chip that another system set up needs --rekey and its five keys: --keys takes { "k0": …, "k4": … } or ' +
    'five lines of hex, as the wipe files of other tools have them. Several stations may work on one sheet: each row is used once. --reader all works on every reader side by ' +
    'side. If the daemon, the reader service or a reader goes away, the box waits for it. --timeout says how long to ' +
    'wait for a chip (default: 30 seconds) and for what went away (default: 10 minutes).',
  examples: [
    'nfc provision --key-set 101 --chip-group Jackets',
    'nfc provision --key-set 101 --chip-group Jackets --file labels.csv',
    'nfc provision --key-set 101 --chip-group Jackets --count 50 --json',
    'nfc provision --key-set 101 --chip-group Jackets --file labels.csv --reader all',
    'nfc provision --key-set 101 --chip-group Demo --reader emulator --accept-url',
    'nfc provision --key-set 101 --chip-group Jackets --rekey --keys wipe.json',
    'nfc provision --resume b_1hq3v9k7s2m4xa',
  ],
  options: {
    keySet: integer(
      '--key-set <id>',
      'The key set that the chips get their keys from',
      [0, 0xffffffff],
      'key-set',
    ),
    chipGroup: text(
      '--chip-group <name|id>',
      'The chip group, which is created if it does not exist',
      'chip-group',
    ),
    count: integer('--count <n>', 'Number of different chips, one after another', [1, 1_000_000]),
    ...sheetFlags,
    rekey: flag('--rekey', 'Give new keys to chips that are already set up'),
    keys: text('--keys <file>', 'With --rekey: the five keys of a chip that another system set up', 'file'),
    tryFactoryKeys: flag(
      '--try-factory-keys',
      'Try the public keys of blank chips on chips whose key versions are not 0',
    ),
    fileData: text('--file-data <text>', 'Text that chips show encrypted, for a template with {enc}'),
    aar: text('--aar <package>', 'An Android app that a tap opens, such as com.example.app'),
    text: text('--text <text>', 'A text record behind the URL'),
    acceptUrl: flag('--accept-url', 'Lock the address into the chips without checking it'),
    allowUnsigned: flag('--allow-unsigned', 'Take chips that cannot prove that NXP made them'),
    startOver: flag('--start-over', 'Use all rows of the sheet again, from the first'),
    resume: text('--resume <id>', 'Resume a box that was stopped', 'batch'),
    board: flag('--board', 'Fill the terminal with the state of each reader, to be read from afar'),
    reader: readerOption,
    team,
  },
  run: (outer, { options }) => {
    const run = async (ctx: CliContext, view: BoxView): Promise<ExitCode> => {
      ctx.needAdmin()
      if (options.resume !== undefined) {
        if (options.count !== undefined || options.startOver)
          throw new UsageError('A box is resumed as it was begun: leave --count and --start-over out.')
        const box = readBox(ctx.system, options.resume)
        if (box) return resumeBox(ctx, box, { ...options, keys: await ownersKeys(ctx, options.keys), view })
        const old = oldJournal(ctx.system, options.resume)
        if (old) throw ofEarlierVersion(old)
        throw new UsageError(
          `There is no box "${options.resume}" to resume.`,
          'The ID was printed when nfc provision started, on this machine. List all batches: tapchip batch list',
        )
      }
      const keySet = await chooseKeySet(ctx, options.keySet, ({ canProvision }) => canProvision)
      const chipGroup = await chooseGroup(ctx, options.chipGroup, options.team)
      const { rekey, acceptUrl, allowUnsigned, startOver, reader, count, tryFactoryKeys } = options
      const { fileData, aar, text } = options
      if (options.keys !== undefined && !rekey)
        throw new UsageError('--keys is about chips that are set up: give them new ones with --rekey.')
      const keys = await ownersKeys(ctx, options.keys)
      if (startOver && options.file === undefined)
        throw new UsageError('--start-over is about the rows of a sheet: --file is missing.')
      if (reader === ALL && count === undefined && options.file === undefined)
        throw new UsageError('--reader all needs to know how many chips: --count N or --file FILE.')
      const source = options.file === undefined ? undefined : openSource(ctx.system, options.file)
      const rows = source ? await readRows(source, options) : []
      if (source && rows.length === 0) {
        ctx.io.note(`${source.name} has no rows. Nothing to do.`)
        return exitCodes.done
      }
      assertEnough(rows, count, source)
      return provisionBox(ctx, {
        order: {
          purpose: 'provision',
          keySet,
          chipGroup,
          rekey,
          acceptUrl,
          tryFactoryKeys,
          ...keys,
          fileData,
          aar,
          text,
          ...(allowUnsigned ? { originality: 'any' as const } : {}),
          ...(options.team === undefined ? {} : { team: options.team }),
        },
        reader,
        count,
        rows,
        source,
        sheetSettings: asSettings(options),
        startOver,
        view,
        resumes: undefined,
      })
    }
    return options.board ? withBoard(outer, run) : run(outer, lines(outer))
  },
})

const assertEnough = (
  rows: readonly ChipRow[],
  count: number | undefined,
  source: Source | undefined,
): void => {
  if (source === undefined || count === undefined || count <= rows.length) return
  throw new UsageError(
    `--count ${count} is more than the ${rows.length} rows of ${source.name}.`,
    'Each chip takes a row: leave --count out, or add rows.',
  )
}
