import type { FastifyInstance } from 'fastify'
import { restrictToOperators } from '../http/administration.ts'
import { limited } from '../http/bind.ts'
import { openApiDocument } from '../http/openapi/document.ts'
import type { Context } from '../process/context.ts'

/** Generated from the endpoint table on first request. */
export function openApiRoutes(app: FastifyInstance, ctx: Context): void {
  const documents = new Map<string, string>()
  const document = (kind: 'public' | 'admin') => {
    const text = documents.get(kind) ?? JSON.stringify(openApiDocument(ctx, kind))
    documents.set(kind, text)
    return text
  }
  app.get('/openapi.json', { config: limited }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(document('public')),
  )
  app.register(async (direct) => {
    restrictToOperators(direct, ctx.config)
    direct.get('/admin/openapi.json', async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(document('admin')),
    )
  })
}
