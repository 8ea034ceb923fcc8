// Requests that may be repeated, as those who take them see it.
export { IdempotencyConflict } from '../../chain/relayer/errors.ts'
export type { Idempotency } from '../../chain/relayer/idempotency.ts'
export type { Claim, Json } from '../../chain/relayer/record-intent.ts'
