import { uidOnWire } from '../../../../nfc/uid.ts'
import {
  assignGuestbookRowsIn,
  decideGuestbookRows,
  type GuestbookResult,
  type GuestbookRow,
} from '../../guestbook/assign-rows.ts'
import { iso } from '../../time/time.ts'
import type { WrittenKind } from '../kind.ts'
import { idIn, instantIn, lineReader, refuseOthers, repeatedEvent, uidsIn } from './lines.ts'

type GuestbookKind = WrittenKind<GuestbookRow, GuestbookResult>

const ofUndo = ['previous', 'left']
const known = new Set(['row', 'uid', 'guestbookEventId', ...ofUndo])

const readRow = lineReader<GuestbookRow, { kind: string }>((line, row, { kind }) => {
  refuseOthers(line, known)
  const about = { row, uids: uidsIn(line), guestbookEventId: idIn(line, 'guestbookEventId') }
  if (ofUndo.some((name) => line[name] !== undefined))
    return { ...about, to: { since: instantIn(line, 'previous') }, left: instantIn(line, 'left') }
  return { ...about, to: kind === 'guestbook assign' ? 'assigned' : 'unassigned' }
})

const common = {
  how: 'written',
  isAdmin: false,
  // Taps of the chips will then give codes, or stop doing so.
  scope: 'transfer',
  readRow,
  async plan({ db, clock }, run, rows, seen) {
    const results = await decideGuestbookRows(db.read, run, rows, { at: iso(clock.now()) })
    return results.map((result) => {
      const { row, uid, guestbookEventId } = result
      const repeated = repeatedEvent(result, guestbookEventId, seen)
      return repeated ? { row, uid, guestbookEventId, ...repeated } : result
    })
  },
  rowsPerWrite: { min: 50, max: 500 },
  async write(trx, { clock }, run, rows) {
    const at = iso(clock.now())
    const plain = rows.map(({ row }) => row)
    const results = await decideGuestbookRows(trx, run, plain, {
      at,
      planned: rows.map((one) => one.planned),
    })
    await assignGuestbookRowsIn(trx, run, results, at)
    return results
  },
} satisfies Partial<GuestbookKind>

/** The opposite of what the batch did to a chip. */
const taking = (kind: string): GuestbookKind['undo'] => ({
  kind,
  row: ({ row, guestbookEventId }, { uid, status, previous, left }) =>
    status === 'assigned' || status === 'unassigned'
      ? { row, uid: uidOnWire(uid), guestbookEventId, previous, left }
      : undefined,
})

export const guestbookAssignment: GuestbookKind = {
  ...common,
  names: ['guestbook assign'],
  undo: taking('guestbook unassign'),
}

export const guestbookUnassignment: GuestbookKind = {
  ...common,
  names: ['guestbook unassign'],
  undo: taking('guestbook assign'),
}
