import { counted } from '../io/text.ts'
import { badgeAssignment, badgeUnassignment } from './kinds/badge-assignments.ts'
import { badgeEventCreation } from './kinds/badge-events.ts'
import { chipSelections, chipsApply } from './kinds/chips-apply.ts'
import { chipsEdit } from './kinds/chips-edit.ts'
import { chipsImport, chipsImportUndo } from './kinds/chips-import.ts'
import { guestbookAssignment, guestbookUnassignment } from './kinds/guestbook-assignments.ts'
import { guestbookMint } from './kinds/guestbook-mint.ts'
import { itemApply, itemEdit } from './kinds/items.ts'
import { phygitalMetadata, phygitalMetadataUndo } from './kinds/phygital-metadata.ts'
import { phygitalTransfers } from './kinds/phygital-transfers.ts'
import { changedIn } from './plan.ts'
import { describeRow, type KindMessages } from './sheet-kind.ts'

const known: readonly KindMessages[] = [
  chipsApply,
  chipsEdit,
  guestbookMint(),
  chipsImport(),
  chipsImportUndo,
  ...Object.values(chipSelections),
  badgeEventCreation,
  badgeAssignment(),
  badgeUnassignment(),
  guestbookAssignment(),
  guestbookUnassignment(),
  itemEdit,
  itemApply,
  phygitalTransfers,
  phygitalMetadata(),
  phygitalMetadataUndo,
]

/** Messages by the daemon's name of the kind. A newer daemon may have other kinds. */
export const messagesOf = (kind: string): KindMessages =>
  known.find(({ name }) => name === kind) ?? {
    name: kind,
    label: 'Running',
    describe: (result) => describeRow(result),
    question: (totals, does) => `Run ${counted(changedIn(totals), 'row')}${does}?`,
  }
