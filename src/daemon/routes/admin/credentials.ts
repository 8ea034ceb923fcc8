import type { FastifyInstance } from 'fastify'
import { parseScopes } from '../../../values/scopes.ts'
import { grantable } from '../../domain/access/grants.ts'
import {
  type CredentialRow,
  createCredential,
  listCredentials,
  removeCredential,
  rollSecret,
} from '../../domain/access/issue-credentials.ts'
import { namedTeam, resolveTeam, teamNames } from '../../domain/access/teams.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

export function credentialRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/api-keys': async ({ query, teamId, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      return (await listCredentials(ctx, 'apiKeys', team.id)).map((row) => apiKeyToWire(row, team.name))
    },
    'POST /admin/api-keys': async ({ body, teamId, keyTeam, actor, holder }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      const { scopes = grantable(holder) } = body
      const wanted = { ...body, scopes, teamId: team.id }
      const { row, secret } = await createCredential(ctx, { holder, actor }, 'apiKeys', wanted)
      return { ...apiKeyToWire(row, team.name), key: secret }
    },
    'POST /admin/api-keys/:id/roll': ({ params, body, actor, holder }) =>
      rollSecret(ctx, { actor, holder }, 'apiKeys', { ...params, ...overlapOf(body) }),
    'DELETE /admin/api-keys/:id': async ({ params, actor, holder }) => {
      await removeCredential(ctx, { actor, holder }, 'apiKeys', params.id)
      return { success: true as const }
    },
    'GET /admin/whoami': async ({ holder: { kind, teamId, scopes, ...holder } }) => ({
      kind: kind === 'apiKeys' ? 'api-key' : 'admin-token',
      ...pick(holder, 'name', 'expiresAt'),
      scopes: [...scopes],
      team: (await teamNames(ctx)).get(teamId) ?? null,
    }),
    'GET /admin/admin-tokens': async ({ query, teamId }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam: () => teamId ?? undefined })
      const names = await teamNames(ctx)
      const rows = await listCredentials(ctx, 'adminTokens', team?.id ?? null)
      return rows.map((row) => toWire(row, names.get(row.teamId)))
    },
    // An API key beside the token does not choose the team: a token for all would become one for a single team.
    'POST /admin/admin-tokens': async ({ body, teamId, holder, actor }) => {
      const team = await namedTeam(ctx, { name: body.team, teamId, keyTeam: () => teamId ?? undefined })
      const wanted = { ...body, teamId: team?.id ?? null }
      const { row, secret } = await createCredential(ctx, { holder, actor }, 'adminTokens', wanted)
      return { ...toWire(row, team?.name), token: secret }
    },
    'POST /admin/admin-tokens/:id/roll': ({ params, body, actor, holder }) =>
      rollSecret(ctx, { actor, holder }, 'adminTokens', { ...params, ...overlapOf(body) }),
    'DELETE /admin/admin-tokens/:id': async ({ params, actor, holder }) => {
      await removeCredential(ctx, { actor, holder }, 'adminTokens', params.id)
      return { success: true as const }
    },
  })
}

const overlapOf = ({ overlapSeconds = 86_400 }: { overlapSeconds?: number | undefined }) => ({
  overlapMs: overlapSeconds * 1000,
})

const toWire = (row: CredentialRow, team: string | null = null) => ({
  ...pick(row, 'id', 'name', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt', 'lastUsedFrom'),
  team,
  scopes: parseScopes(row.scopes),
})

const apiKeyToWire = (row: CredentialRow, team: string) => ({
  ...toWire(row),
  team,
  hint: row.hint ?? '',
})
