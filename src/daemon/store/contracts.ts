import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { ContractRow, ContractsTable, TransactionRow } from './schema.ts'
import { statement } from './statement.ts'

export const contractsOfTeam = (db: Queries, teamId: number): Promise<ContractRow[]> =>
  db.selectFrom('contracts').selectAll().where('teamId', '=', teamId).orderBy('id').execute()

export const findContractOfSymbol = (
  db: Queries,
  teamId: number,
  symbol: string,
): Promise<ContractRow | undefined> =>
  db
    .selectFrom('contracts')
    .selectAll()
    .where('teamId', '=', teamId)
    .where('symbol', '=', symbol)
    .executeTakeFirst()

/** @param address EIP-55 */
export const findContractAt = (
  db: Queries,
  chainId: number,
  address: string,
): Promise<ContractRow | undefined> =>
  db
    .selectFrom('contracts')
    .selectAll()
    .where('chainId', '=', chainId)
    .where('address', '=', address)
    .executeTakeFirst()

export const insertContract = (db: Queries, row: Insertable<ContractsTable>): Promise<ContractRow> =>
  db.insertInto('contracts').values(row).returningAll().executeTakeFirstOrThrow()

export const findContract = (db: Queries, id: number): Promise<ContractRow | undefined> =>
  db.selectFrom('contracts').selectAll().where('id', '=', id).executeTakeFirst()

/** Those that are nowhere yet, and that nothing deploys. */
export const undeployedContracts = (db: Queries, chainId: number): Promise<ContractRow[]> =>
  db
    .selectFrom('contracts')
    .selectAll()
    .where('chainId', '=', chainId)
    .where('status', '=', 'pending')
    .where('transactionId', 'is', null)
    .orderBy('id')
    .execute()

/** Those of ours that were told another base address than this. */
export const contractsToldOtherwise = (
  db: Queries,
  chainId: number,
  serviceUrl: string,
): Promise<ContractRow[]> =>
  db
    .selectFrom('contracts')
    .selectAll()
    .where('chainId', '=', chainId)
    .where('transactionId', 'is not', null)
    .where('serviceUrl', '!=', serviceUrl)
    .where('urlTransactionId', 'is', null)
    .orderBy('id')
    .execute()

/** Pending ones whose deployment is recorded and has not been signed, with what would be sent. */
export const deploymentsNotSigned = async (
  db: Queries,
  chainId: number,
): Promise<(ContractRow & Pick<TransactionRow, 'to' | 'data'>)[]> =>
  db
    .selectFrom('contracts')
    .innerJoin('transactions', 'transactions.id', 'contracts.transactionId')
    .selectAll('contracts')
    .select(['transactions.to', 'transactions.data'])
    .where('contracts.chainId', '=', chainId)
    .where('contracts.status', '=', 'pending')
    .where('transactions.state', '=', 'queued')
    .where('transactions.firstHash', 'is', null)
    .orderBy('contracts.id')
    .execute()

/** Those of ours that count as deployed. */
export const deployedContracts = (db: Queries, chainId: number): Promise<ContractRow[]> =>
  db
    .selectFrom('contracts')
    .selectAll()
    .where('chainId', '=', chainId)
    .where('status', '=', 'confirmed')
    .where('transactionId', 'is not', null)
    .orderBy('id')
    .execute()

/** Those that something is wrong with, with their teams. */
export const contractsInTrouble = (db: Queries, limit: number) =>
  db
    .selectFrom('contracts')
    .innerJoin('teams', 'teams.id', 'contracts.teamId')
    .select(['contracts.chainId', 'symbol', 'address', 'status', 'problem', 'teams.name as team'])
    .where('problem', 'is not', null)
    .orderBy('contracts.id')
    .limit(limit)
    .execute()

export async function updateContract(
  db: Queries,
  id: number,
  change: Partial<
    Pick<
      ContractRow,
      | 'address'
      | 'status'
      | 'transactionId'
      | 'serviceUrl'
      | 'urlTransactionId'
      | 'lastTokenId'
      | 'problem'
      | 'isBound'
      | 'twoTapDelaySeconds'
      | 'twoTapWindowSeconds'
    >
  >,
): Promise<void> {
  await db.updateTable('contracts').set(change).where('id', '=', id).execute()
}

const confirm = statement<{ transactionId: number }>()((db, p) =>
  db
    .updateTable('contracts')
    .set({ status: 'confirmed', problem: null })
    .where('transactionId', '=', p.transactionId),
)
/** The contract that a transaction deploys, if it deploys one, is there. */
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
 * The deployment failed for good: the next start, or the next request for the contract, tries again. So it is with
 * the contract's events: what created them went to an address where nothing is, which is no failure on a chain.
 */
export async function forgetDeployment(db: Queries, transactionId: number): Promise<void> {
  await retryEvents.run(db, { transactionId })
  await retry.run(db, { transactionId })
}

/** What was sent to a contract's address, of some kinds, oldest first. */
export const sentToContract = (
  db: Queries,
  { chainId, address, kinds }: { chainId: number; address: string; kinds: readonly string[] },
): Promise<
  Pick<TransactionRow, 'kind' | 'subject' | 'data' | 'gas' | 'teamId' | 'state' | 'abandonedBecause'>[]
> =>
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
/** The contract that a transaction tells another base address, if it does that. */
export const contractToldBy = async (db: Queries, transactionId: number): Promise<number | undefined> =>
  (await toldBy.first(db, { transactionId }))?.id

const deployedBy = statement<{ transactionId: number }>()((db, p) =>
  db
    .selectFrom('contracts')
    .select('id')
    .where('transactionId', '=', p.transactionId)
    .where('status', '=', 'pending'),
)
/** The contract that waits for a transaction to deploy it. */
export const contractDeployedBy = async (db: Queries, transactionId: number): Promise<number | undefined> =>
  (await deployedBy.first(db, { transactionId }))?.id
