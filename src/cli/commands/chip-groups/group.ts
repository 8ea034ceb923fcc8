import { ApiError } from '../../client/errors.ts'
import type { AnswerOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { findNamed } from '../named.ts'

export const groupArgument = { group: argument('group', 'Its name or ID', 'chip-group') }

export const printGroup = (ctx: CliContext, group: AnswerOf<'POST /admin/chip-groups'>): Promise<void> =>
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
