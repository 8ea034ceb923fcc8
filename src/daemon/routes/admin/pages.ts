import type { FastifyInstance } from 'fastify'
import { resolveTeam } from '../../domain/access/teams.ts'
import { invalid } from '../../domain/errors/errors.ts'
import { ownContent } from '../../domain/tap-page/preview.ts'
import { bindAll } from '../../http/bind.ts'
import { previews } from '../../pages/tap/preview.ts'
import { samples } from '../../pages/tap/samples.ts'
import type { Context } from '../../process/context.ts'
import { pageSettings } from '../tap-page-answer.ts'

export function pageRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/pages/preview': async ({ query, teamId, keyTeam }) => {
      const { state, item, language } = query
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      const own = await ownContent(ctx, team, item)
      const found = previews(pageSettings(ctx, language), own, state)
      if (found.length > 0) return found
      const known = samples(new Date(ctx.clock.now())).map((one) => one.state)
      throw invalid('state', `must be one of ${known.join(', ')}`)
    },
  })
}
