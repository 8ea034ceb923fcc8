import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { namedTeam } from '../../domain/access/teams.ts'
import {
  cancelTransaction,
  listTransactions,
  type Named,
  showTransaction,
  type TransactionRow,
} from '../../domain/chain/transactions.ts'
import { bindAll } from '../../http/bind.ts'

const usualLimit = 100

export function transactionRoutes(app: FastifyInstance, ctx: Context): void {
  const shown = async (id: number) => {
    const transaction = await showTransaction(ctx, id)
    return { ...toWire(transaction), attempts: transaction.attempts.map(attemptOnWire) }
  }
  bindAll(app, ctx, {
    'GET /admin/transactions': async ({ query, keyTeam }) => {
      const { team: name, limit = usualLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, keyTeam })
      return (await listTransactions(ctx, { ...filter, limit, teamId: team?.id })).map(toWire)
    },
    'GET /admin/transactions/:id': async ({ params }) => shown(params.id),
    'POST /admin/transactions/:id/cancel': async ({ params, body, actor }) => {
      await cancelTransaction(ctx, { actor, id: params.id, reason: body.reason })
      return shown(params.id)
    },
  })
}

function toWire(row: Named<TransactionRow>) {
  const { id, team, chainId, kind, state, waiting, reason, minedHash, blockNumber, sender, nonce } = row
  const { createdAt, updatedAt, settledAt } = row
  return {
    id,
    team,
    chainId,
    kind,
    subject: subjectOf(row.subject),
    state,
    waiting,
    reason,
    cancelling: settledAt === null ? row.abandonedBecause : null,
    initialTxHash: row.firstHash,
    minedHash,
    blockNumber,
    sender,
    nonce,
    createdAt,
    updatedAt,
    settledAt,
  }
}

function subjectOf(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

type Attempt = Awaited<ReturnType<typeof showTransaction>>['attempts'][number]

function attemptOnWire({ hash, purpose, sender, nonce, gas, ...attempt }: Attempt) {
  const { maxFeePerGas, maxPriorityFeePerGas, signedAt, sentAt, error } = attempt
  return { hash, purpose, sender, nonce, gas, maxFeePerGas, maxPriorityFeePerGas, signedAt, sentAt, error }
}
