import { type BatchState, isBatchId, newBatchId } from '../../../values/batch.ts'
import { isJsonObject, parseObject } from '../../../values/json.ts'
import { parseScopes, permits, type Scope } from '../../../values/scopes.ts'
import type { Actor } from '../../store/audit/audit.ts'
import {
  type BatchRow,
  batchesNamed,
  findBatch,
  insertBatch,
  listBatches,
  type NamedBatch,
} from '../../store/batches/batches.ts'
import type { Queries } from '../../store/database/database.ts'
import { lacking, recordedAs } from '../access/grants.ts'
import { conflict, DomainError, invalid, notFound, scopeMissing } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import type { BatchDeps, BatchKind, BatchRun, Settings } from './kind.ts'
import { badgeAssignment, badgeUnassignment } from './kinds/badge-assignments.ts'
import { badgeEventCreation } from './kinds/badge-events.ts'
import { chipsEdit } from './kinds/chip-edits.ts'
import { chipImport, chipImportUndo } from './kinds/chip-import.ts'
import { chipsApply, chipsRemove } from './kinds/chips.ts'
import { guestbookAssignment, guestbookUnassignment } from './kinds/guestbook-assignments.ts'
import { guestbookMints } from './kinds/guestbook-mints.ts'
import { itemApply, itemEdit } from './kinds/items.ts'
import { phygitalMetadata } from './kinds/phygital-metadata.ts'
import { phygitalTransfers } from './kinds/phygital-transfers.ts'
import { assertRoom } from './pieces.ts'

const kinds: readonly BatchKind[] = [
  chipsApply,
  chipsRemove,
  chipsEdit,
  badgeEventCreation,
  badgeAssignment,
  badgeUnassignment,
  chipImport,
  chipImportUndo,
  guestbookAssignment,
  guestbookUnassignment,
  itemApply,
  itemEdit,
  guestbookMints,
  phygitalMetadata,
  phygitalTransfers,
]
const kindsByName = new Map(kinds.flatMap((kind) => kind.names.map((name) => [name, kind] as const)))

export interface BatchCaller {
  readonly actor: Actor
  /** Undefined: all teams' batches. */
  readonly teamId: number | undefined
  /** Asks under /admin. */
  readonly isAdmin: boolean
  readonly scopes: readonly Scope[]
  /** Permanently identifies the credential, since names can be reused: `key 3`, `token 0`. */
  readonly credential: string
}

/**
 * Beginning, resuming, or undoing a batch, or reading its rows, requires the scope of its kind.
 * @throws DomainError scope_missing
 */
function assertMayRun(
  caller: BatchCaller,
  { isAdmin, scope }: Pick<BatchKind, 'isAdmin' | 'scope'>,
  kind: string,
): void {
  if (isAdmin && !caller.isAdmin)
    throw scopeMissing(`Batches of ${kind} are under /admin/batches, with the same credential.`)
  if (!permits(caller.scopes, scope))
    throw lacking(recordedAs(caller.actor, caller.teamId), [scope], `a batch of ${kind} requires it`)
}

/** The credential's name without the prefix of its kind. */
export const nameOf = ({ name }: Pick<Actor, 'name'>): string => name.replace(/^(key|admin):/, '')

type StartedBatch = Pick<BatchRow, 'id' | 'startedBy' | 'startedById' | 'scopes'>

/**
 * Rows run with the scopes of whoever started the batch, so nobody else may upload rows or change its settings.
 * @throws DomainError scope_missing
 */
export function assertBegan({ credential }: BatchCaller, { id, startedBy, startedById }: StartedBatch): void {
  if (startedById === credential) return
  throw scopeMissing(
    `Batch ${id} was started by ${nameOf({ name: startedBy })}, with another credential. Only that one can upload its rows or plan it. To run them with yours, give another name, or remove it first: tapchip batch remove ${id}`,
  )
}

/** @throws DomainError scope_missing if the rows need scopes that the caller lacks */
export function assertMayStart({ credential, scopes, ...caller }: BatchCaller, begun: StartedBatch): void {
  if (begun.startedById === credential) return
  const missing = parseScopes(begun.scopes).filter((scope) => !permits(scopes, scope))
  if (missing.length === 0) return
  throw lacking(
    recordedAs(caller.actor, caller.teamId),
    missing,
    `batch ${begun.id} was started by ${nameOf({ name: begun.startedBy })}, and its rows run with the scopes of that credential`,
  )
}

interface NewBatch {
  readonly teamId: number
  readonly kind: string
  readonly name?: string | undefined
  readonly note?: string | undefined
  /** ISO 8601 in UTC. */
  readonly at?: string | undefined
  readonly until?: string | undefined
  readonly isProposed: boolean
  readonly host?: string | undefined
  readonly context?: string | undefined
  readonly settings: Settings
  /** Rows per second. */
  readonly rate?: number | undefined
  readonly total: number
  readonly rowsHash: string
}

/** In characters. These are stored with the batch and are not rows. */
const maxSettings = 16_384

/** @throws DomainError invalid_input */
export function kindOf(name: string): BatchKind {
  const kind = kindsByName.get(name)
  if (!kind) throw invalid('kind', `"${name}" is not a kind of batch that this daemon knows`)
  return kind
}

/** Finds a batch by its ID or name. @throws DomainError not_found, conflict */
export async function batchOf(db: Queries, { teamId }: BatchCaller, idOrName: string): Promise<NamedBatch> {
  if (isBatchId(idOrName)) {
    const batch = await findBatch(db, idOrName)
    if (batch && (teamId === undefined || batch.teamId === teamId)) return batch
    throw notFound('batch')
  }
  const [batch, other] = await batchesNamed(db, idOrName, teamId)
  if (!batch) throw notFound('batch')
  if (other) throw conflict(`Several teams have a batch named "${idOrName}". Give its ID: tapchip batch list`)
  return batch
}

/** Finds a batch and its kind, whose scope the caller needs. @throws DomainError not_found, conflict, scope_missing */
export async function batchToRun(db: Queries, caller: BatchCaller, idOrName: string) {
  const batch = await batchOf(db, caller, idOrName)
  const kind = kindOf(batch.kind)
  assertMayRun(caller, kind, batch.kind)
  return { batch, kind }
}

/** In the wire format, with the team's name. Newest first. */
export const listOwnBatches = (
  { db }: Pick<BatchDeps, 'db'>,
  { teamId }: Pick<BatchCaller, 'teamId'>,
  filter: { state?: BatchState | undefined; limit: number },
): Promise<NamedBatch[]> => listBatches(db.read, { ...filter, teamId })

export const settingsOf = ({ settings }: Pick<BatchRow, 'settings'>): Settings => parseObject(settings) ?? {}

export const runOf = (batch: BatchRow): BatchRun => ({
  ...{ id: batch.id, kind: batch.kind, teamId: batch.teamId, pass: batch.pass },
  actor: { name: batch.startedBy, requestId: null, batch: batch.id },
  scopes: parseScopes(batch.scopes),
  settings: settingsOf(batch),
})

/** A batch without rows yet. */
export const emptyBatch = {
  state: 'uploading',
  ...{ approvedBy: null, undoes: null, uploaded: 0, plan: null, pass: 1 },
  ...{ nextPiece: 0, nextRow: 0, changed: 0, unchanged: 0, failed: 0, conflict: 0, stored: 0 },
  ...{ error: null, lateSeconds: null, auditHead: null, startedAt: null, endedAt: null },
} as const

/**
 * Creates a batch, or returns the one with the same name and rows.
 * @throws DomainError invalid_input, scope_missing, too_large, batch_name_taken, and errors of its kind
 */
export async function createBatch(
  deps: BatchDeps,
  caller: BatchCaller,
  input: NewBatch,
): Promise<{ isNew: boolean; batch: NamedBatch }> {
  const { teamId, kind: kindName, name, settings, total, rowsHash, rate } = input
  const kind = kindOf(kindName)
  assertMayRun(caller, kind, kindName)
  const now = deps.clock.now()
  assertTimes(kind, input, now)
  const settingsText = JSON.stringify(settings)
  if (settingsText.length > maxSettings)
    throw invalid('settings', `must be at most ${maxSettings} characters of JSON`)
  if (name !== undefined && isBatchId(name)) throw invalid('name', 'must not look like the ID of a batch')
  const id = newBatchId(now)
  const { actor, scopes, credential } = caller
  const known = name === undefined ? undefined : await sameBatch(deps.db.read, input, name)
  if (known) return { isNew: false, batch: known }
  await kind.checkSettings?.(deps, { kind: kindName, teamId, actor, scopes, settings })
  const row: BatchRow = {
    ...emptyBatch,
    ...{ id, teamId, kind: kindName, total, rowsHash, name: name ?? null, note: input.note ?? null },
    ...{ at: input.at ?? null, until: input.until ?? null, isProposed: input.isProposed ? 1 : 0 },
    ...{ host: input.host ?? null, context: input.context ?? null, settings: settingsText },
    ...{ startedBy: actor.name, startedById: credential, scopes: JSON.stringify(scopes) },
    rate: rateOf(rate),
    ...{ createdAt: iso(now), touchedAt: iso(now) },
  }
  const isNew = await deps.db.write(async (trx) => {
    await assertRoom(trx, teamId)
    return insertBatch(trx, row)
  })
  const batch = isNew ? await findBatch(deps.db.read, id) : await sameBatch(deps.db.read, input, name ?? '')
  if (!batch) throw notFound('batch')
  return { isNew, batch }
}

/** The stored form of a rate. @param rate rows per second */
export const rateOf = (rate: number | undefined): number | null =>
  rate === undefined ? null : Math.max(1, Math.min(Math.round(rate * 1000), 2 ** 31 - 1))

/** @throws DomainError batch_name_taken */
async function sameBatch(
  db: Queries,
  { teamId, kind, rowsHash }: NewBatch,
  name: string,
): Promise<NamedBatch | undefined> {
  const [known] = await batchesNamed(db, name, teamId)
  if (!known || (known.kind === kind && known.rowsHash === rowsHash)) return known
  throw new DomainError(
    'batch_name_taken',
    `The batch ${known.id} (${known.kind}) is named "${name}" and has other rows. Choose another name.`,
  )
}

/** @throws DomainError invalid_input */
function assertTimes({ undo }: BatchKind, { at, until }: NewBatch, now: number): void {
  if (until === undefined) return
  if ('refusal' in undo) throw invalid('until', `cannot be kept. ${undo.refusal}`)
  if (until <= iso(now)) throw invalid('until', `has passed: at the daemon it is ${iso(now)}`)
  if (at !== undefined && until <= at) throw invalid('until', 'must be after the time when the batch starts')
}

/** Stored totals of the batch. */
export function totalsOf({ plan }: Pick<BatchRow, 'plan'>): Readonly<Record<string, unknown>> | null {
  const totals: unknown = plan === null ? null : JSON.parse(plan)
  return isJsonObject(totals) ? totals : null
}
