import * as z from 'zod'
import type { Explorers } from '../../chain/explorers.ts'
import { findClaimOfOtp } from '../../store/badge-events/badge-claims.ts'
import { findIdempotencyKey } from '../../store/chain/idempotency-keys.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import type { Db } from '../../store/database/database.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { findOtp, hashCode, isExpired } from '../codes/otps.ts'
import { claimOf, type IssuedCodes, type Seals } from '../codes/seals.ts'
import { iso } from '../time/time.ts'
import type { Action, ActionKind, ActionState, ClosedReason } from './content.ts'
import type { Visit } from './visit.ts'

export interface RecordDeps {
  db: Pick<Db, 'read'>
  seals: Seals
  clock: { now(): number; uptime(): number }
  explorers: Explorers
  /** Called with each unsettled transaction. */
  watch?: ((transactionId: number) => void) | undefined
}

/** A registration made with a code, as recorded. */
export const registered = z.object({ recipient: z.string(), allowedAt: z.string(), expiresAt: z.string() })

/** Each record of a recipient that was typed as an ENS name has it. */
const named = z.object({ name: z.string().optional() })

/** The code of a page for one of its actions. */
export function codeOf(
  codes: IssuedCodes | undefined,
  { kind, id }: { kind: ActionKind; id: number },
): string | undefined {
  if (kind === 'badge') return codes?.badges.get(id)
  return kind === 'guestbook' ? codes?.guestbooks.get(id) : claimOf(codes)
}

/**
 * The key under which a page's use of a code is recorded. A code can be used once, so there is at most one record.
 */
export const recordOf = (code: string, kind: ActionKind) => ({
  scope: `code:${hashCode(code)}`,
  key: `tap-page:${kind}`,
})

export const findRecord = ({ db, clock }: RecordDeps, code: string, kind: ActionKind) =>
  findIdempotencyKey(db.read, { ...recordOf(code, kind), now: iso(clock.uptime()) })

/** The registration for which a page's code was used, whatever became of it. */
export async function recordedRegistration(deps: RecordDeps, code: string) {
  const record = await findRecord(deps, code, 'register')
  return record?.answer == null ? undefined : registered.extend(named.shape).parse(JSON.parse(record.answer))
}

/** The ENS name that was typed for what came of this page's action. */
export async function nameOfResult(
  deps: RecordDeps,
  { codes }: Visit,
  { kind, id, state }: Pick<Action, 'kind' | 'id' | 'state'>,
): Promise<string | undefined> {
  const code = state.is === 'pending' || state.is === 'confirmed' ? codeOf(codes, { kind, id }) : undefined
  if (code === undefined) return undefined
  // Whoever claims with the code of a page has done the first step, too.
  const record = (await findRecord(deps, code, kind)) ?? (await findRecord(deps, code, 'claim'))
  return record?.answer == null ? undefined : named.nullable().parse(JSON.parse(record.answer))?.name
}

/** The state of a claim or a guestbook mint; undefined: this page did not request it. */
export async function transactionState(
  deps: RecordDeps,
  code: string,
  kind: 'claim' | 'guestbook',
): Promise<ActionState | undefined> {
  const record = await findRecord(deps, code, kind)
  if (record?.transactionId == null) return undefined
  const row = await findTransaction(deps.db.read, record.transactionId)
  if (row?.settledAt === null) deps.watch?.(row.id)
  return row && stateOf(row, deps.explorers)
}

function stateOf(row: TransactionRow, explorers: Explorers): ActionState {
  const { chainId, minedHash, firstHash } = row
  const hash = minedHash ?? firstHash
  const transaction = hash === null ? undefined : { hash, url: explorers.transaction(chainId, hash) }
  // Stored by the rule that recorded it.
  const { recipient }: { recipient?: string } = JSON.parse(row.subject)
  if (row.state === 'confirmed') return { is: 'confirmed', recipient, transaction }
  if (row.state === 'reverted' || row.state === 'cancelled')
    return { is: 'failed', failure: { code: row.state } }
  return { is: 'pending', recipient, transaction }
}

/** The state of a badge; undefined: it was not requested, or its claim failed. */
export async function badgeState(
  { db }: Pick<RecordDeps, 'db'>,
  code: string,
): Promise<ActionState | undefined> {
  const claim = await findClaimOfOtp(db.read, hashCode(code))
  if (!claim) return undefined
  const { recipient, transactionHash } = claim
  // The provider sends it, on its own chain.
  const transaction = transactionHash === null ? undefined : { hash: transactionHash, url: undefined }
  if (claim.state === 'open') return { is: 'pending', recipient, transaction }
  return { is: 'confirmed', recipient, transaction }
}

/** Why a code cannot be used; undefined: it can. */
export async function closedReason(deps: RecordDeps, code: string): Promise<ClosedReason | undefined> {
  const otp = await findOtp(deps.db.read, deps, code)
  if (!otp || otp.deletedAt !== null) return 'expired'
  if (otp.usedAt !== null) return 'used'
  return isExpired(otp, iso(deps.clock.now())) ? 'expired' : undefined
}
