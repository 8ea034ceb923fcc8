import type { AnswerOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'

export const groupArgument = { group: argument('group', 'Its name or id', 'chip-group') }

export const printGroup = (ctx: CliContext, group: AnswerOf<'POST /admin/chip-groups'>): Promise<void> =>
  ctx.io.one(group, ({ id, name, team, chips, createdAt }) => ({
    Id: id,
    Name: name,
    Team: team,
    Chips: chips,
    Created: createdAt,
  }))
