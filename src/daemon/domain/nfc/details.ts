import { hasFactoryKeys, type Inspection } from '../../../nfc/provision/inspect.ts'
import { findChipRecord } from '../../store/chips/chip-records.ts'
import { existingLabels } from '../../store/chips/chip-registration.ts'
import { conflict, invalid } from '../errors/errors.ts'
import type { SetUpDeps } from './execute-plan.ts'
import { knownChip } from './known-chip.ts'
import type { ChipDetails, NfcSession, PassedRow, Reply, Step } from './session.ts'
import type { SheetPlace } from './session-leases.ts'
import { holdRow, offerRow, passRowTo } from './sheet-rows.ts'

interface DetailsRequest {
  readonly teamId: number
  /** undefined: ask once the chip is known. */
  readonly details: ChipDetails | undefined
  readonly rekey: boolean
  readonly sheetRun: number | undefined
}

export interface ChipSetup {
  readonly details: ChipDetails
  readonly rekey: boolean
  readonly place: SheetPlace | undefined
}

type DetailsScript = AsyncGenerator<Step, ChipSetup, Reply>

/** Asks the caller for the chip's details. @throws ChipBusy; DomainError conflict, invalid_input */
export async function* detailsFor(
  deps: SetUpDeps,
  session: NfcSession,
  { details, rekey, teamId, sheetRun: run }: DetailsRequest,
  inspection: Inspection,
): DetailsScript {
  if (details) return { details, rekey, place: undefined }
  const { uid } = inspection
  // Before a row is offered, so that the replaced session releases its own row.
  if (run !== undefined) await session.lock({ uid })
  const { row, open } = await knownChip(deps.db.read, uid, session.actor)
  const registered = row?.teamId === teamId ? { label: row.label, keySet: row.keySetId } : null
  const chip = { uid, isBlank: hasFactoryKeys(inspection), hasOpenPlan: open !== undefined, registered }
  if (run !== undefined) return yield* fromSheet(deps, session, { run, teamId, rekey }, chip)
  const reply = yield { type: 'inspected', chip }
  if (reply.type !== 'details') return { details: {}, rekey, place: undefined }
  return { details: reply.details, rekey: reply.rekey ?? rekey, place: undefined }
}

/** Offers rows until the caller confirms one that the chip may have. */
async function* fromSheet(
  deps: SetUpDeps,
  session: NfcSession,
  { run, teamId, rekey }: { run: number; teamId: number; rekey: boolean },
  chip: Extract<Step, { type: 'inspected' }>['chip'],
): DetailsScript {
  const { uid } = chip
  let passed: PassedRow | undefined
  for (;;) {
    const { row: offered, isOwn, sheet } = await offerRow(deps, session, run, uid)
    const reply = yield { type: 'inspected', chip: { ...chip, row: offered, sheet, passed } }
    passed = undefined
    if (reply.type !== 'details' || reply.row === undefined)
      throw invalid('details.row', 'is required: the row of the sheet that the details are from')
    if (offered === null) throw conflict('No row of the sheet is free. Wait until one is, or stop.')
    const place = { run, row: reply.row }
    if (place.row > sheet.rows) throw invalid('details.row', `must be at most ${sheet.rows}`)
    if (place.row !== offered && (isOwn || !(await holdRow(deps.db.read, session, place)))) continue
    const { label } = reply.details
    const [holder] = label === undefined ? [] : await existingLabels(deps.db.read, teamId, [label])
    if (isOwn || !holder || holder.uid === uid)
      return { details: reply.details, rekey: reply.rekey ?? rekey, place }
    await passRowTo(deps, place, holder.uid)
    const record = await findChipRecord(deps.db.read, holder.uid)
    passed = { row: place.row, uid: holder.uid, chipGroup: record?.chipGroupName ?? '' }
  }
}
