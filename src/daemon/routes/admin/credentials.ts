import type { FastifyInstance } from 'fastify'
import { parseScopes } from '../../../values/scopes.ts'
import {
  type AdminTokenRow,
  type ApiKeyRow,
  createAdminToken,
  createApiKey,
  listAdminTokens,
  listApiKeys,
  removeAdminToken,
  removeApiKey,
} from '../../domain/access/issue-credentials.ts'
import { resolveTeam, type TeamRow } from '../../domain/access/teams.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

export function credentialRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/api-keys': async ({ query, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, keyTeam })
      return (await listApiKeys(ctx, team.id)).map((row) => apiKeyToWire(row, team))
    },
    'POST /admin/api-keys': async ({ body, keyTeam, actor, token }) => {
      const team = await resolveTeam(ctx, { name: body.team, keyTeam })
      const { row, key } = await createApiKey(ctx, { teamId: team.id, actor, token }, body)
      return { ...apiKeyToWire(row, team), key }
    },
    'DELETE /admin/api-keys/:id': async ({ params, actor, token }) => {
      await removeApiKey(ctx, { actor, token }, params.id)
      return { success: true as const }
    },
    'GET /admin/admin-tokens': async () => (await listAdminTokens(ctx)).map(tokenToWire),
    'POST /admin/admin-tokens': async ({ body, token: creator, actor }) => {
      const { row, token } = await createAdminToken(ctx, { token: creator, actor }, body)
      return { ...tokenToWire(row), token }
    },
    'DELETE /admin/admin-tokens/:id': async ({ params, actor, token }) => {
      await removeAdminToken(ctx, { actor, token }, params.id)
      return { success: true as const }
    },
  })
}

const tokenToWire = (row: AdminTokenRow) => ({
  ...pick(row, 'id', 'name', 'createdAt', 'expiresAt', 'revokedAt'),
  scopes: parseScopes(row.scopes),
})

const apiKeyToWire = (row: ApiKeyRow, team: TeamRow) => ({
  ...tokenToWire(row),
  team: team.name,
  hint: row.hint,
})
