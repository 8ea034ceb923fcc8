import type { FastifyInstance } from 'fastify'
import { waitingText } from '../../../values/waiting-reason.ts'
import type { Actor } from '../../domain/access/credentials.ts'
import { namedTeam } from '../../domain/access/teams.ts'
import { transactionStats } from '../../domain/chain/transaction-stats.ts'
import {
  cancelTransaction,
  listTransactions,
  showTransaction,
  type TransactionRow,
  type WithTeamName,
} from '../../domain/chain/transactions.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick, storedObject } from '../wire-shapes.ts'

const defaultLimit = 100

export function transactionRoutes(app: FastifyInstance, ctx: Context): void {
  const shown = async (actor: Actor, id: number) => {
    const transaction = await showTransaction(ctx, actor, id)
    return { ...toWire(transaction), attempts: transaction.attempts.map(attemptOnWire) }
  }
  bindAll(app, ctx, {
    'GET /admin/transactions': async ({ query, teamId, keyTeam }) => {
      const { team: name, limit = defaultLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, teamId, keyTeam })
      return (await listTransactions(ctx, { ...filter, limit, teamId: team?.id })).map(toWire)
    },
    'GET /admin/transactions/stats': async ({ query, teamId, keyTeam }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      return { ...(await transactionStats(ctx, team?.id)) }
    },
    'GET /admin/transactions/:id': async ({ params, actor }) => shown(actor, params.id),
    'POST /admin/transactions/:id/cancel': async ({ params, body, actor }) => {
      await cancelTransaction(ctx, { actor, id: params.id, reason: body.reason })
      return shown(actor, params.id)
    },
  })
}

const toWire = (row: WithTeamName<TransactionRow>) => ({
  ...pick(row, 'id', 'team', 'chainId', 'kind', 'state', 'reason', 'minedHash', 'blockNumber'),
  ...pick(row, 'sender', 'nonce', 'groupId', 'createdAt', 'updatedAt', 'settledAt'),
  relayer: row.signer,
  waiting: waitingText(row.waiting, row.waitingWords),
  subject: storedObject(row.subject),
  cancelling: row.settledAt === null ? row.abandonedBecause : null,
  initialTxHash: row.firstHash,
})

type Attempt = Awaited<ReturnType<typeof showTransaction>>['attempts'][number]

const attemptOnWire = (attempt: Attempt) => ({
  ...pick(attempt, 'hash', 'purpose', 'sender', 'nonce', 'gas', 'maxFeePerGas', 'maxPriorityFeePerGas'),
  ...pick(attempt, 'signedAt', 'sentAt', 'error'),
})
