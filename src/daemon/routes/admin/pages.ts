import type { FastifyInstance } from 'fastify'
import { setPageStrings } from '../../domain/access/page-strings.ts'
import { resolveTeam } from '../../domain/access/teams.ts'
import { invalid } from '../../domain/errors/errors.ts'
import { ownContent } from '../../domain/tap-page/preview.ts'
import { bindAll } from '../../http/bind.ts'
import { previews } from '../../pages/tap/preview.ts'
import { samples } from '../../pages/tap/samples.ts'
import { parseOwn, readWords, wordsInUse } from '../../pages/tap/strings/own.ts'
import type { Context } from '../../process/context.ts'
import { pageSettings } from '../tap-page-answer.ts'

export function pageRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/pages/strings': async ({ query, teamId, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      return { strings: wordsInUse(team.pageStrings) }
    },
    'PUT /admin/pages/strings': async ({ body, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      const { words, problems } = readWords(body.strings)
      if (problems.length > 0) throw invalid('strings', `were not changed: ${problems.join(' ')}`)
      await setPageStrings(ctx, { teamId: team.id, actor }, words)
      const own = Object.values(parseOwn(words)).reduce((sum, texts) => sum + Object.keys(texts).length, 0)
      return { success: true as const, own }
    },
    'GET /admin/pages/preview': async ({ query, teamId, keyTeam }) => {
      const { state, item, language, scheme, brandName, brandColor, brandBackground, brandLogoUrl } = query
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      const own = await ownContent(ctx, team, item, {
        name: brandName,
        color: brandColor,
        background: brandBackground,
        logoUrl: brandLogoUrl,
      })
      const found = previews({ ...pageSettings(ctx, language), scheme }, own, state)
      if (found.length > 0) return found
      const known = samples(new Date(ctx.clock.now())).map((one) => one.state)
      throw invalid('state', `must be one of ${known.join(', ')}`)
    },
  })
}
