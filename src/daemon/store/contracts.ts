import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { ContractRow, ContractsTable } from './schema.ts'

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
