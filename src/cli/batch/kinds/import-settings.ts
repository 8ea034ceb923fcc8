import type { Client } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { clean, shellQuoted } from '../../io/text.ts'
import type { Header } from '../journal.ts'
import type { ImportInput } from './import-sheet.ts'

export interface ImportSettings {
  readonly team: string | undefined
  readonly chipGroup: string
  readonly keySet: number | undefined
  readonly simulated: boolean
}

/** As text, for the journal. */
export const asText = ({ team, chipGroup, keySet, simulated }: ImportSettings) => ({
  chipGroup,
  team,
  keySet: keySet?.toString(),
  simulated: simulated ? 'true' : undefined,
})

/** The reverse of asText. */
export const settingsIn = (settings: NonNullable<Header['settings']>): ImportSettings => ({
  team: settings.team,
  chipGroup: settings.chipGroup ?? '',
  keySet: settings.keySet === undefined ? undefined : Number(settings.keySet),
  simulated: settings.simulated === 'true',
})

export const queryOf = (
  settings: ImportSettings,
  report: 'all' | 'failures' | 'exceptions',
  dryRun: boolean,
) => ({
  ...settings,
  report,
  dryRun,
  simulated: settings.simulated || undefined,
})

/** Sends the heading alone as a dry run, so that problems with the settings are reported before there is a batch. */
export const checkSettings = async (
  ctx: CliContext,
  client: Client,
  settings: ImportSettings,
  { blocks }: ImportInput,
): Promise<void> => {
  await ctx.beforeWrite()
  const [first = Buffer.alloc(0)] = blocks
  const upload = { contentType: 'text/csv', content: [first.subarray(0, first.indexOf('\n') + 1)] }
  const query = queryOf(settings, 'failures', true)
  const answers = client.stream('POST /admin/chips/import', { query, upload })
  for await (const _ of answers);
}

/** The group is created before the first row, and stays if every row fails: tell the user where it came from. */
export const reportEmptyGroup = async (
  ctx: CliContext,
  { chipGroup, team }: ImportSettings,
): Promise<void> => {
  // This is only a courtesy, so errors are ignored.
  const groups = await ctx.call('GET /admin/chip-groups', { query: { team } }).catch(() => [])
  if (groups.find(({ name }) => name === chipGroup)?.chips !== 0) return
  ctx.io.note(
    `The chip group "${clean(chipGroup)}" was created, and is empty. Remove it: tapchip chip-groups remove ${shellQuoted(chipGroup)}`,
  )
}
