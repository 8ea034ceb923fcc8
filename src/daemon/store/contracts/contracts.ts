import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { ContractRow, ContractsTable } from '../schema/schema.ts'

const contracts = (db: Queries) => db.selectFrom('contracts').selectAll('contracts')

export const contractsOfTeam = (db: Queries, teamId: number) =>
  contracts(db).where('teamId', '=', teamId).orderBy('id').execute()

export const findContractOfSymbol = (db: Queries, teamId: number, symbol: string) =>
  contracts(db).where('teamId', '=', teamId).where('symbol', '=', symbol).executeTakeFirst()

/** @param address EIP-55 */
export const findContractAt = (db: Queries, chainId: number, address: string) =>
  contracts(db).where('chainId', '=', chainId).where('address', '=', address).executeTakeFirst()

export const insertContract = (db: Queries, row: Insertable<ContractsTable>): Promise<ContractRow> =>
  db.insertInto('contracts').values(row).returningAll().executeTakeFirstOrThrow()

export const findContract = (db: Queries, id: number) => contracts(db).where('id', '=', id).executeTakeFirst()

const ofChain = (db: Queries, chainId: number) =>
  contracts(db).where('contracts.chainId', '=', chainId).orderBy('contracts.id')

export const undeployedContracts = (db: Queries, chainId: number) =>
  ofChain(db, chainId).where('status', '=', 'pending').where('transactionId', 'is', null).execute()

/** Contracts deployed by this daemon with a different base URL. */
export const contractsWithOtherUrl = (db: Queries, chainId: number, serviceUrl: string) =>
  ofChain(db, chainId)
    .where('transactionId', 'is not', null)
    .where('serviceUrl', '!=', serviceUrl)
    .where('urlTransactionId', 'is', null)
    .execute()

/** Pending contracts with an unsigned deployment, with its recipient and data. */
export const deploymentsNotSigned = (db: Queries, chainId: number) =>
  ofChain(db, chainId)
    .innerJoin('transactions', 'transactions.id', 'contracts.transactionId')
    .select(['transactions.to', 'transactions.data'])
    .where('contracts.status', '=', 'pending')
    .where('transactions.state', '=', 'queued')
    .where('transactions.firstHash', 'is', null)
    .execute()

export const deployedContracts = (db: Queries, chainId: number) =>
  ofChain(db, chainId).where('status', '=', 'confirmed').where('transactionId', 'is not', null).execute()

export function contractsInTrouble(
  db: Queries,
  { limit, teamId }: { limit: number; teamId?: number | undefined },
) {
  const query = db
    .selectFrom('contracts')
    .innerJoin('teams', 'teams.id', 'contracts.teamId')
    .select(['contracts.chainId', 'symbol', 'address', 'status', 'problem', 'teams.name as team'])
    .where('problem', 'is not', null)
    .orderBy('contracts.id')
    .limit(limit)
  return (teamId === undefined ? query : query.where('teamId', '=', teamId)).execute()
}

export const updateContract = (
  db: Queries,
  id: number,
  change: Partial<Omit<ContractRow, 'id' | 'teamId' | 'kind' | 'symbol' | 'name' | 'chainId' | 'createdAt'>>,
) => affected(db.updateTable('contracts').set(change).where('id', '=', id))

/** @returns false if it has these values already */
export const changeContract = async (
  db: Queries,
  id: number,
  change: Partial<Omit<ContractRow, 'id'>>,
): Promise<boolean> => {
  const columns = Object.keys(change) as (keyof typeof change)[]
  const differs = db
    .updateTable('contracts')
    .set(change)
    .where('id', '=', id)
    .where((e) => e.or(columns.map((column) => e(column, 'is distinct from', change[column] ?? null))))
  return (await affected(differs)) > 0
}

export const contractsToRefresh = (db: Queries) =>
  contracts(db).where('isRefreshPostponed', '=', 1).orderBy('id').execute()

const confirm = statement<{ transactionId: number }>()((db, p) =>
  db
    .updateTable('contracts')
    .set({ status: 'confirmed', problem: null })
    .where('transactionId', '=', p.transactionId),
)
export const confirmContractOf = (db: Queries, transactionId: number) => confirm.run(db, { transactionId })

const retry = statement<{ transactionId: number }>()((db, p) =>
  db
    .updateTable('contracts')
    .set({ transactionId: null })
    .where('transactionId', '=', p.transactionId)
    .where('status', '=', 'pending'),
)
const retryEvents = statement<{ transactionId: number }>()((db, p) =>
  db
    .updateTable('guestbookEvents')
    .set({ transactionId: null })
    .where('contractId', 'in', (e) =>
      e
        .selectFrom('contracts')
        .select('id')
        .where('transactionId', '=', p.transactionId)
        .where('status', '=', 'pending'),
    ),
)
/**
 * After a permanent failure, the contract is deployed again and its events are recreated. Their transactions went
 * to an empty address, which a chain does not report as a failure.
 */
export async function forgetDeployment(db: Queries, transactionId: number): Promise<void> {
  await retryEvents.run(db, { transactionId })
  await retry.run(db, { transactionId })
}

/** Oldest first. */
export const sentToContract = (
  db: Queries,
  { chainId, address, kinds }: { chainId: number; address: string; kinds: readonly string[] },
) =>
  db
    .selectFrom('transactions')
    .select(['kind', 'subject', 'data', 'gas', 'teamId', 'state', 'abandonedBecause'])
    .where('chainId', '=', chainId)
    .where('to', '=', address)
    .where('kind', 'in', kinds)
    .orderBy('id')
    .execute()

const toldBy = statement<{ transactionId: number }>()((db, p) =>
  db.selectFrom('contracts').select('id').where('urlTransactionId', '=', p.transactionId),
)
/** @returns the contract whose base URL the transaction changes */
export const contractOfUrlUpdate = async (db: Queries, transactionId: number) =>
  (await toldBy.first(db, { transactionId }))?.id

const deployedBy = statement<{ transactionId: number }>()((db, p) =>
  db
    .selectFrom('contracts')
    .select('id')
    .where('transactionId', '=', p.transactionId)
    .where('status', '=', 'pending'),
)
export const contractDeployedBy = async (db: Queries, transactionId: number) =>
  (await deployedBy.first(db, { transactionId }))?.id

/** Counts references that prevent removal; `transactions` are unsettled. */
export async function contractUses(db: Queries, id: number) {
  const { address, chainId } = await contracts(db).where('id', '=', id).executeTakeFirstOrThrow()
  const rows = (table: 'items' | 'guestbookEvents') =>
    db
      .selectFrom(table)
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('contractId', '=', id)
  const tokensIn = (table: 'chips' | 'badgeAssignments') =>
    db
      .selectFrom(table)
      .innerJoin('tokens', 'tokens.id', 'tokenRow')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('tokens.contractId', '=', id)
  const pending = db
    .selectFrom('transactions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('chainId', '=', chainId)
    .where('settledAt', 'is', null)
    .where((e) => e.or([e('to', '=', address), e('topic', 'like', `token:${chainId}/${address}/%`)]))
  const counted = async (query: { executeTakeFirstOrThrow(): Promise<{ count: number }> }) =>
    Number((await query.executeTakeFirstOrThrow()).count)
  return {
    chips: await counted(tokensIn('chips')),
    items: await counted(rows('items')),
    events: await counted(rows('guestbookEvents')),
    assignments: await counted(tokensIn('badgeAssignments')),
    transactions: await counted(pending),
  }
}

/** Also deletes its tokens, which must not be linked to chips. */
export async function deleteContract(db: Queries, id: number): Promise<void> {
  await db.deleteFrom('tokens').where('contractId', '=', id).execute()
  await db.deleteFrom('contracts').where('id', '=', id).execute()
}
