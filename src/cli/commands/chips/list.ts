import { ApiError } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { MissingCredential } from '../../errors.ts'
import { colons } from '../../uid.ts'
import { chipsOf, listGroups } from '../chip-groups.ts'
import { type Conditions, groupFlag, readConditions, selectChips, selectionFlags } from './select.ts'

interface Listed {
  readonly uid: string
  readonly label?: string | null
  readonly chipGroup?: string
  readonly isConfigured: boolean
  readonly redirectUrl: string | null
  readonly createdAt: string
}

export const list = defineCommand({
  name: 'list',
  summary: 'List all chips of the team, or only some: --chip-group, --label, --where',
  examples: [
    'chips list --chip-group Jackets',
    'chips list --where item=jacket --where linked=false --where tappedSince=7d',
    "chips list --label 'Coat 7' --json",
    "chips list --chip-group 3 --json | jq -r '.[].uid'",
  ],
  options: { ...groupFlag, ...selectionFlags, team },
  run: async (ctx, { options }) => {
    const conditions = readConditions(ctx, options)
    const isWhole = options.team === undefined && options.where.length + options.label.length === 0
    // Where administration has another address, an API key alone reads whole groups, and no labels.
    const isAdmin = ctx.config().adminToken() !== undefined || !isWhole || (await isHere(ctx))
    const chips: AsyncIterable<Listed> = isAdmin
      ? selectChips(ctx, conditions ?? {}, options.team)
      : chipsByKey(ctx, options.chipGroup)
    await ctx.io.list(
      chips,
      {
        UID: (chip) => chip.uid,
        HEX: (chip) => colons(chip.uid),
        ...(isAdmin
          ? { LABEL: ({ label }: Listed) => label, GROUP: ({ chipGroup }: Listed) => chipGroup }
          : {}),
        CONFIGURED: (chip) => chip.isConfigured,
        'REDIRECT URL': (chip) => chip.redirectUrl,
        CREATED: (chip) => chip.createdAt,
      },
      none(conditions),
    )
  },
})

const isHere = (ctx: CliContext): Promise<boolean> =>
  ctx.call('GET /admin/teams').then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError || error instanceof MissingCredential) return false
      throw error
    },
  )

const none = (conditions: Conditions | undefined): string => {
  const add = 'Add some: tapchip chips import --file chips.csv'
  if (conditions === undefined) return `There are no chips yet. ${add}`
  const isGroup = Object.keys(conditions).every((column) => column === 'chipGroup')
  return isGroup ? `The group has no chips. ${add}` : 'No chips match.'
}

async function* chipsByKey(ctx: CliContext, chipGroup: string | undefined): AsyncGenerator<Listed> {
  ctx.needApiKey()
  const groups =
    chipGroup === undefined ? (await listGroups(ctx, undefined)).map(({ id }) => String(id)) : [chipGroup]
  for (const group of groups) yield* await chipsOf(ctx, group)
}
