import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { ContractRow } from '../schema/schema.ts'

/** The kind of intents that tell a contract about a relayer. */
export const contractRelayerKind = 'contract-relayer'

const accepted = statement<{ contractId: number }>()((db, p) =>
  db
    .selectFrom('contractRelayers')
    .select('address')
    .where('contractId', '=', p.contractId)
    .where('confirmedAt', 'is not', null),
)
/** Addresses besides the first relayer's. */
export const acceptedRelayers = async (db: Queries, contractId: number): Promise<ReadonlySet<string>> =>
  new Set((await accepted.all(db, { contractId })).map(({ address }) => address))

/** Contracts of ours that were not told of this relayer. */
export const contractsWithoutRelayer = (
  db: Queries,
  { chainId, address }: { chainId: number; address: string },
): Promise<ContractRow[]> =>
  db
    .selectFrom('contracts')
    .selectAll('contracts')
    .where('contracts.chainId', '=', chainId)
    .where('contracts.transactionId', 'is not', null)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('contractRelayers')
            .select('contractId')
            .whereRef('contractId', '=', 'contracts.id')
            .where('contractRelayers.address', '=', address),
        ),
      ),
    )
    .orderBy('contracts.id')
    .execute()

export const insertContractRelayer = (
  db: Queries,
  row: { contractId: number; address: string; transactionId: number },
) => affected(db.insertInto('contractRelayers').values({ ...row, confirmedAt: null }))

export const confirmContractRelayer = statement<{ transactionId: number; at: string }>()((db, p) =>
  db.updateTable('contractRelayers').set({ confirmedAt: p.at }).where('transactionId', '=', p.transactionId),
).run

/** The next start tells the contract again. */
export const forgetContractRelayers = (db: Queries, of: { transactionId: number } | { contractId: number }) =>
  affected(db.deleteFrom('contractRelayers').where((e) => e.and(of)))
