import type { FastifyInstance } from 'fastify'
import { resolveTeam } from '../../domain/access/teams.ts'
import { createLink, type LinkRow, listLinks, removeLink } from '../../domain/chips/links.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

export function linkRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/links': async ({ query, teamId, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      return (await listLinks(ctx, team.id)).map((link) => toWire(link, team.name))
    },
    'POST /admin/links': async ({ body, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      return toWire(await createLink(ctx, { teamId: team.id, actor }, body), team.name)
    },
    'DELETE /admin/links/:id': async ({ params, actor }) => {
      await removeLink(ctx, actor, params.id)
      return { success: true as const }
    },
  })
}

const toWire = (link: LinkRow, team: string) => ({
  ...pick(link, 'id', 'label', 'baseUrl', 'createdAt'),
  team,
})
