import type { BatchState } from '../../../values/batch.ts'
import type { Queries } from '../database/database.ts'
import type { BatchRow } from './batches.ts'

/** A batch with the time when its credential was revoked; null: the credential has expired. */
export type BatchOfEnded = BatchRow & { revokedAt: string | null }

/**
 * Batches whose credential was revoked or has expired, oldest first. The root token never does.
 * @param now ISO 8601 @param which batches in these states, or a single one by its ID
 */
export const batchesOfEndedCredentials = (
  db: Queries,
  now: string,
  which: { states: readonly BatchState[] } | { id: string },
): Promise<BatchOfEnded[]> => {
  const query = db
    .selectFrom('batches')
    // In the format of `startedById`.
    .leftJoin('apiKeys', (join) =>
      join.on((eb) =>
        eb('startedById', '=', eb(eb.val('key '), '||', eb.cast<string>('apiKeys.id', 'text'))),
      ),
    )
    .leftJoin('adminTokens', (join) =>
      join.on((eb) =>
        eb('startedById', '=', eb(eb.val('token '), '||', eb.cast<string>('adminTokens.id', 'text'))),
      ),
    )
    .selectAll('batches')
    .select((eb) => eb.fn.coalesce('apiKeys.revokedAt', 'adminTokens.revokedAt').as('revokedAt'))
    .where((eb) =>
      eb.or([
        eb('apiKeys.revokedAt', 'is not', null),
        eb('apiKeys.expiresAt', '<=', now),
        eb('adminTokens.revokedAt', 'is not', null),
        eb('adminTokens.expiresAt', '<=', now),
      ]),
    )
    .orderBy('batches.id')
  return (
    'id' in which ? query.where('batches.id', '=', which.id) : query.where('state', 'in', which.states)
  ).execute()
}
