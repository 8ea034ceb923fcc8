import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { listContracts, registerContract } from '../../domain/contracts.ts'
import { resolveTeam } from '../../domain/teams.ts'
import { bindAll } from '../../http/bind.ts'
import type { ContractRow } from '../../store/schema.ts'

export function contractRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/contracts': async ({ query, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, keyTeam })
      return (await listContracts(ctx, team.id)).map((contract) => toWire(contract, team.name))
    },
    'POST /admin/contracts': async ({ body, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, keyTeam })
      return toWire(await registerContract(ctx, { team, actor }, body), team.name)
    },
  })
}

function toWire(contract: ContractRow, team: string) {
  const { id, kind, symbol, name, chainId, address, status, createdAt } = contract
  const { twoTapDelaySeconds: delaySeconds, twoTapWindowSeconds: windowSeconds } = contract
  return {
    id,
    team,
    kind,
    symbol,
    name,
    chainId,
    // As in the interface, a guestbook contract has no address before it is there.
    address: kind === 'guestbook' && status === 'pending' ? null : address,
    status,
    twoTap: delaySeconds === null || windowSeconds === null ? null : { delaySeconds, windowSeconds },
    createdAt,
  }
}
