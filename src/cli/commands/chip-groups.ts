import { ApiError } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import { defineCommand } from '../command/define.ts'
import { argument, optionalArgument, team, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { shellQuoted } from '../io/text.ts'
import { findNamed } from './named.ts'

const groupArgument = { group: argument('group', 'Its name or ID', 'chip-group') }

const printGroup = (ctx: CliContext, group: AnswerOf<'POST /admin/chip-groups'>): Promise<void> =>
  ctx.io.one(group, ({ id, name, team, chips, createdAt }) => ({
    Id: id,
    Name: name,
    Team: team,
    Chips: chips,
    Created: createdAt,
  }))

/** An API key lists its team's groups, an admin token those of any team. */
export const listGroups = async (
  ctx: CliContext,
  team: string | undefined,
): Promise<readonly { id: number; name: string; createdAt: string; chips?: number; team?: string }[]> => {
  if (team === undefined && ctx.config().apiKey) return ctx.call('GET /chip-groups')
  if (!ctx.config().adminToken()) ctx.needApiKey()
  return ctx.call('GET /admin/chip-groups', { query: { team } })
}

export const chooseGroup = (ctx: CliContext, nameOrId: string | undefined, team?: string): Promise<string> =>
  ctx.prompts.choice(nameOrId, {
    flag: '--chip-group',
    message: 'Which chip group?',
    choices: async () => (await listGroups(ctx, team)).map(({ name }) => ({ name, value: name })),
  })

/** IDs take precedence over names. */
export const findGroup = async (ctx: CliContext, nameOrId: string, team: string | undefined) => {
  const groups = await ctx.call('GET /admin/chip-groups', { query: { team } })
  return findNamed(groups, nameOrId, {
    noun: 'chip group',
    list: 'chip-groups list',
    by: [({ id }) => id, ({ name }) => name],
  })
}

/** Digits are tried as an ID first; a group may be called 2024 all the same. */
export const chipsOf = async (ctx: CliContext, group: string) => {
  if (!/^\d{1,15}$/.test(group)) return ctx.call('GET /chips', { query: { name: group } })
  try {
    return await ctx.call('GET /chips', { query: { chipGroupId: group } })
  } catch (error) {
    if (!(error instanceof ApiError) || error.statusCode !== 404) throw error
    return ctx.call('GET /chips', { query: { name: group } })
  }
}

const list = defineCommand({
  name: 'list',
  summary: 'List the chip groups',
  examples: ['chip-groups list', 'chip-groups list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    const groups = await listGroups(ctx, options.team)
    const counted = groups.some(({ chips }) => chips !== undefined)
    await ctx.io.list(
      groups,
      {
        ID: (group) => group.id,
        NAME: (group) => group.name,
        // The list for API keys has no counts; the one for admins does.
        ...(counted && { CHIPS: (group) => group.chips, TEAM: (group) => group.team }),
        CREATED: (group) => group.createdAt,
      },
      'No chip groups. Create one: tapchip chip-groups create --name NAME',
    )
  },
})

const create = defineCommand({
  name: 'create',
  summary: 'Create a chip group',
  examples: ['chip-groups create Jackets', 'chip-groups create --name Jackets --team Acme --json'],
  args: { name: optionalArgument('name', 'Its name') },
  options: { name: text('--name <name>', 'The same, as a flag'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(args.name ?? options.name, {
      flag: '--name',
      message: 'Name of the group',
    })
    const group = await ctx.call('POST /admin/chip-groups', { body: { name, team: options.team } })
    await printGroup(ctx, group)
    ctx.io.hint(
      `Fill it: tapchip chips import --file chips.csv --chip-group ${shellQuoted(group.name)} --key-set ID`,
    )
  },
})

const rename = defineCommand({
  name: 'rename',
  summary: 'Rename a chip group',
  examples: ['chip-groups rename Jackets --name "Jackets 2026"'],
  args: groupArgument,
  options: { name: text('--name <name>', 'Its new name'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'New name' })
    const { id } = await findGroup(ctx, args.group, options.team)
    const group = await ctx.call('PATCH /admin/chip-groups/:id', { params: { id }, body: { name } })
    await printGroup(ctx, group)
    ctx.io.hint(`See its chips: tapchip chips list --chip-group ${shellQuoted(group.name)}`)
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove an empty chip group',
  examples: ['chip-groups remove Jackets'],
  args: groupArgument,
  options: { team, yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    await ctx.prompts.confirm(options.yes, `Remove the chip group "${args.group}"?`)
    const { id } = await findGroup(ctx, args.group, options.team)
    await ctx.io.one(await ctx.call('DELETE /admin/chip-groups/:id', { params: { id } }), () => ({
      Removed: args.group,
    }))
    ctx.io.hint('See what is left: tapchip chip-groups list')
  },
})

export const verbs = [list, create, rename, remove]
