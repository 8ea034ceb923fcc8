import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { ContractRow, ContractsTable } from './schema.ts'
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
    .orderBy('id')
    .execute()

export async function updateContract(
  db: Queries,
  id: number,
  change: Partial<Pick<ContractRow, 'address' | 'status' | 'transactionId' | 'serviceUrl' | 'lastTokenId'>>,
): Promise<void> {
  await db.updateTable('contracts').set(change).where('id', '=', id).execute()
}

const confirm = statement<{ transactionId: number }>()((db, p) =>
  db.updateTable('contracts').set({ status: 'confirmed' }).where('transactionId', '=', p.transactionId),
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
/** The deployment failed for good: the next start tries again. */
export const forgetDeployment = (db: Queries, transactionId: number) => retry.run(db, { transactionId })
