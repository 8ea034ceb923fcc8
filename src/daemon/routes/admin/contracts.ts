import type { FastifyInstance } from 'fastify'
import { getTeam, resolveTeam } from '../../domain/access/teams.ts'
import { editContract, featuresOf } from '../../domain/contracts/collection.ts'
import {
  type ContractRow,
  contractIn,
  functionsOf,
  isPlaced,
  listContracts,
  registerContract,
  removeContract,
} from '../../domain/contracts/contracts.ts'
import { inspectContract } from '../../domain/contracts/inspect-contract.ts'
import { deployContract, deployedBy, updateServiceUrl } from '../../domain/deployments/deploy-contract.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

export function contractRoutes(app: FastifyInstance, ctx: Context): void {
  const withTeam = async (contract: ContractRow) =>
    shown(contract, (await getTeam(ctx, contract.teamId)).name)
  const shown = async (contract: ContractRow, team: string) => ({
    ...toWire(contract, team, isPlaced(ctx, contract)),
    features: await featuresOf(ctx, contract),
  })
  bindAll(app, ctx, {
    'GET /admin/contracts': async ({ query, teamId, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      return Promise.all((await listContracts(ctx, team.id)).map((contract) => shown(contract, team.name)))
    },
    'POST /admin/contracts': async ({ body, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      const contract = await registerContract(ctx, { team, actor }, body)
      return { ...(await shown(contract, team.name)), ...(await inspectContract(ctx, contract)) }
    },
    'GET /admin/contracts/:id': async ({ params, actor }) => {
      const contract = await contractIn(ctx.db.read, actor, params.id)
      return { ...(await withTeam(contract)), ...(await inspectContract(ctx, contract)) }
    },
    'POST /admin/contracts/deploy': async ({ body, teamId, keyTeam, actor, once }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      return once({
        scope: { teamId: team.id },
        record: (idempotency) => deployContract(ctx, { team, actor, idempotency }, body),
        answer: async (transactionId) => {
          const { contract, warnings } = await deployedBy(ctx, transactionId)
          return { ...(await shown(contract, team.name)), warnings }
        },
      })
    },
    'PATCH /admin/contracts/:id': async ({ params, body, actor }) => {
      const edited = await editContract(ctx, { actor, id: params.id }, body)
      const { contract, transactionId: sentTransactionId, warnings } = edited
      return { ...(await withTeam(contract)), sentTransactionId, warnings }
    },
    'DELETE /admin/contracts/:id': async ({ params, actor }) => {
      await removeContract(ctx, { actor, id: params.id })
      return { success: true as const }
    },
    'POST /admin/contracts/:id/service-url': async ({ params, body, actor }) => {
      const result = await updateServiceUrl(ctx, { actor, id: params.id, force: body.force ?? false })
      const { contract, transactionId: sentTransactionId, warnings } = result
      return { ...(await withTeam(contract)), sentTransactionId, warnings }
    },
  })
}

function toWire(contract: ContractRow, team: string, isPlaced: boolean) {
  const { kind, status, twoTapDelaySeconds: delaySeconds, twoTapWindowSeconds: windowSeconds } = contract
  const { royaltyBasisPoints: points, royaltyReceiver: to } = contract
  return {
    ...pick(contract, 'id', 'kind', 'symbol', 'name', 'chainId', 'status', 'transactionId', 'serviceUrl'),
    ...pick(contract, 'problem', 'createdAt', 'description', 'image', 'banner', 'externalLink'),
    royalty: points === null || to === null ? null : { percent: points / 100, to },
    ...functionsOf(contract),
    team,
    // A guestbook contract has no address until it is deployed, here as in the public interface.
    address: status === 'pending' && (kind === 'guestbook' || !isPlaced) ? null : contract.address,
    twoTap: delaySeconds === null || windowSeconds === null ? null : { delaySeconds, windowSeconds },
  }
}
