import { createHash } from 'node:crypto'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import {
  countNfcSheets,
  findNfcSheet,
  findOpenNfcSheet,
  insertNfcSheet,
  type NfcSheetRow,
  pruneNfcSheets,
  updateNfcSheet,
} from '../../store/nfc/nfc-sheets.ts'
import { Bindings } from '../chips/chip-bindings.ts'
import { findGroup } from '../chips/chip-groups.ts'
import { conflict, DomainError, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

/** Per team. */
const maxRuns = 1_000
const day = 24 * 3_600_000
const keptFor = { closed: 30 * day, unused: 180 * day, empty: day }
export type SheetDeps = { db: Db; clock: Clock }

/** A sheet run as stations see it. */
export interface SheetRun {
  readonly run: number
  readonly rows: number
  readonly taken: number
  readonly openedAt: string
  readonly closedAt: string | null
}

const shown = ({ id: run, rows, taken, openedAt, closedAt }: NfcSheetRow): SheetRun => ({
  run,
  rows,
  taken,
  openedAt,
  closedAt,
})

interface WantedRun {
  readonly teamId: number
  /** The stations' ID of the sheet. */
  readonly id: string
  readonly rows: number
  readonly startOver: boolean
  readonly keySet?: number | undefined
  /** A name, or the ID of an existing group. */
  readonly chipGroup?: string | undefined
  /** The items to which its rows bind chips. */
  readonly items: readonly { readonly item: string; readonly variant?: string | undefined }[]
  /** The caller may give power over chips' assets. */
  readonly mayBind: boolean
}

/** Identical for all stations with the same settings, however they name the group. */
async function keyOf(
  db: Queries,
  teamId: number,
  { id, keySet, chipGroup }: Pick<WantedRun, 'id' | 'keySet' | 'chipGroup'>,
): Promise<string> {
  const group = chipGroup === undefined ? undefined : await findGroup(db, teamId, chipGroup)
  const all = [id, keySet ?? null, group?.name ?? chipGroup ?? null]
  return createHash('sha256').update(JSON.stringify(all)).digest('hex')
}

const maxNamed = 20

/** @throws DomainError invalid_input that names items to which no chip can be bound */
async function assertItems(bindings: Bindings, items: WantedRun['items']): Promise<void> {
  const reasons: string[] = []
  for (const { item, variant } of items) {
    const refusal = await bindings.refuseItem(item, variant)
    if (refusal && !reasons.includes(refusal.reason)) reasons.push(refusal.reason)
    if (reasons.length === maxNamed) break
  }
  if (reasons.length > 0)
    throw new DomainError('invalid_input', `The sheet cannot be used: ${reasons.join('; ')}`)
}

/**
 * Joins the open run of a sheet, or begins one. Concurrent calls get the same run.
 * @throws DomainError conflict if the open run has another number of rows; too_large; invalid_input
 */
export async function joinSheet(
  { db, clock }: SheetDeps,
  actor: Actor,
  { teamId, rows, startOver, items, mayBind, ...about }: WantedRun,
): Promise<SheetRun> {
  const at = iso(clock.now())
  await assertItems(new Bindings(db.read, { teamId, mayBind }), items)
  const sheet = await keyOf(db.read, teamId, about)
  return db.write(async (trx) => {
    const open = await findOpenNfcSheet(trx, { teamId, sheet })
    // An empty run counts as a new one.
    const isKept = open && !(startOver && open.taken > 0)
    if (isKept && open.rows === rows) {
      await updateNfcSheet(trx, open.id, { usedAt: at })
      return shown(open)
    }
    if (open && !startOver)
      throw conflict(
        `The sheet is in use with ${open.rows} rows, not ${rows}. Use the same rows at every station, or start the sheet over: --start-over`,
      )
    if ((await countNfcSheets(trx, teamId)) >= maxRuns)
      throw new DomainError(
        'too_large',
        `The daemon keeps at most ${maxRuns} runs of sheets of a team. Finished ones go after 30 days, and those without a chip after a day.`,
      )
    if (open) await updateNfcSheet(trx, open.id, { closedAt: at })
    const begun = { teamId, sheet, rows, openedAt: at }
    const id = await insertNfcSheet(trx, {
      ...begun,
      taken: 0,
      nextRow: 1,
      usedAt: at,
      closedAt: null,
    })
    const detail = { run: id, rows, startedOver: open?.id ?? null }
    await recordChange(trx, { at, actor, teamId, action: 'nfc.sheet', target: about.id, detail })
    return shown({ ...begun, id, taken: 0, nextRow: 1, usedAt: at, closedAt: null })
  })
}

/** @param teamId its required team; undefined: any @throws DomainError not_found */
export async function showSheet(
  { db }: { db: Pick<Db, 'read'> },
  run: number,
  teamId?: number,
): Promise<SheetRun> {
  const found = await findNfcSheet(db.read, run)
  if (found && (teamId === undefined || found.teamId === teamId)) return shown(found)
  throw notFound('run of a sheet')
}

/** @returns how many rows and runs were deleted */
export const forgetSheets = (trx: Queries, now: number, limit: number): Promise<number> =>
  pruneNfcSheets(trx, {
    before: {
      closed: iso(now - keptFor.closed),
      used: iso(now - keptFor.unused),
      empty: iso(now - keptFor.empty),
    },
    limit,
  })
