import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { Database, TransactionRow } from '../schema/schema.ts'
import type { OfSigner } from './intents.ts'

type WithOther = ExpressionBuilder<Database & { other: Database['transactions'] }, 'other' | 'transactions'>

/** There is no unsettled transaction with the same topic or counter that matters. */
const noOther =
  (key: 'topic' | 'sequence', matters: (o: WithOther) => Expression<SqlBool>) =>
  (e: ExpressionBuilder<Database, 'transactions'>) =>
    e.not(
      e.exists(
        e
          .selectFrom('transactions as other')
          .select('other.id')
          .whereRef(`other.${key}`, '=', `transactions.${key}`)
          .whereRef('other.chainId', '=', 'transactions.chainId')
          .where('other.settledAt', 'is', null)
          .where(matters),
      ),
    )

/** Of another signer, and has to take effect first: it is older, or already has a nonce. */
const isAhead = (o: WithOther) =>
  o.and([
    o('other.signer', '!=', o.ref('transactions.signer')),
    o.or([o('other.id', '<', o.ref('transactions.id')), o('other.state', '!=', 'queued')]),
  ])

const settledGroup = (e: ExpressionBuilder<Database, 'transactions'>) =>
  e
    .selectFrom('transactions as group')
    .select('group.id')
    .whereRef('group.id', '=', 'transactions.groupId')
    .where('group.settledAt', 'is not', null)

/** Oldest first. Omits those that have to wait for another signer's, and those that a group sends. */
export const queuedTransactions = statement<OfSigner & { limit: number }>()((db, p) =>
  db
    .selectFrom('transactions')
    .selectAll()
    .where('chainId', '=', p.chainId)
    .where('signer', '=', p.signer)
    .where('state', '=', 'queued')
    .where('settledAt', 'is', null)
    // A daemon of an earlier version settles a group without its members.
    .where((e) => e.or([e('groupId', 'is', null), e.exists(settledGroup(e))]))
    .where(noOther('topic', isAhead))
    .where(noOther('sequence', isAhead))
    .orderBy('id')
    .limit(p.limit),
).all

const bound = (key: 'topic' | 'sequence') =>
  statement<{ chainId: number; key: string }>()((db, p) =>
    db
      .selectFrom('transactions')
      .select(['id', 'signer'])
      .where('chainId', '=', p.chainId)
      .where(key, '=', p.key)
      .where('settledAt', 'is', null)
      .orderBy('id', 'desc')
      .limit(1),
  )
const [boundByTopic, boundBySequence] = [bound('topic'), bound('sequence')]

/** The signer of the newest unsettled transaction with this topic or counter. */
export async function signerUnderWay(
  db: Queries,
  { chainId, topic, sequence }: Pick<TransactionRow, 'chainId' | 'topic' | 'sequence'>,
): Promise<string | undefined> {
  const [one, other] = [
    topic === null ? undefined : await boundByTopic.first(db, { chainId, key: topic }),
    sequence === null ? undefined : await boundBySequence.first(db, { chainId, key: sequence }),
  ]
  return (one && other && other.id > one.id ? other : (one ?? other))?.signer
}

/** The number of unsettled transactions by signer, including signers that are no longer configured. */
export async function queueLengths(
  db: Queries,
  chainId: number,
  teamId?: number,
): Promise<Map<string, number>> {
  const all = db
    .selectFrom('transactions')
    .select((e) => ['signer', e.fn.countAll<number>().as('count')])
    .where('chainId', '=', chainId)
    .where('settledAt', 'is', null)
    .groupBy('signer')
  const rows = await (teamId === undefined ? all : all.where('teamId', '=', teamId)).execute()
  return new Map(rows.map(({ signer, count }) => [signer, Number(count)]))
}

interface TakeOver {
  chainId: number
  /** The signer that takes them. */
  signer: string
  from: readonly string[]
}

const maySend = (signer: string) => `% ${signer} %`

/** For the column `candidates`. */
export const candidatesText = (signers: readonly string[]): string => ` ${signers.join(' ')} `

/** Intents that were never signed, and that need not wait for one that the other signer has signed. Oldest first. */
export async function takeableIntents(
  db: Queries,
  { chainId, signer, from, limit }: TakeOver & { limit: number },
): Promise<number[]> {
  const isSigned = (o: WithOther) =>
    o.and([o('other.signer', '!=', signer), o('other.state', '!=', 'queued')])
  const rows = await db
    .selectFrom('transactions')
    .select('id')
    .where('chainId', '=', chainId)
    .where('signer', 'in', from)
    .where('state', '=', 'queued')
    .where('settledAt', 'is', null)
    .where('firstHash', 'is', null)
    .where('groupId', 'is', null)
    .where('candidates', 'like', maySend(signer))
    .where(noOther('topic', isSigned))
    .where(noOther('sequence', isSigned))
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Those that another process signed or took meanwhile are left out. @returns the IDs of the others */
export async function takeIntents(
  trx: Queries,
  { chainId, signer, from, ids, at }: TakeOver & { ids: readonly number[]; at: string },
): Promise<{ id: number }[]> {
  const taken = await trx
    .updateTable('transactions')
    .set({ signer, waiting: null, waitingWords: null, updatedAt: at })
    .where('id', 'in', ids)
    .where('chainId', '=', chainId)
    .where('signer', 'in', from)
    .where('state', '=', 'queued')
    .where('firstHash', 'is', null)
    .returning('id')
    .execute()
  const groups = taken.map(({ id }) => id)
  if (groups.length > 0)
    await trx.updateTable('transactions').set({ signer }).where('groupId', 'in', groups).execute()
  return taken
}
