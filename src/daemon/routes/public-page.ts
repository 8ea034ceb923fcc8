import type { FastifyInstance } from 'fastify'
import { readPublicPage } from '../domain/tap-page/public-page.ts'
import { limited } from '../http/bind.ts'
import { publicPage } from '../pages/tap/public-page.ts'
import type { Context } from '../process/context.ts'
import { pageSettings, sendPublicPage } from './tap-page-answer.ts'

/** Pages of pieces, without rights: no cookies, no refs, no codes. */
export function publicPageRoutes(app: FastifyInstance, ctx: Context): void {
  app.get<{ Params: { id: string } }>('/p/:id', { config: limited }, async (request, reply) => {
    const page = await readPublicPage({ ...ctx, explorers: ctx.config.explorers }, request.params.id)
    const settings = { ...pageSettings(ctx, request.headers['accept-language']), nonce: '' }
    return sendPublicPage(request, reply, publicPage(page, settings), {
      settings,
      isFinal: page.isFinal,
    })
  })
}
