import type { BatchKind } from '../kind.ts'
import { badgeAssignment, badgeUnassignment } from './badge-assignments.ts'
import { badgeEventCreation } from './badge-events.ts'
import { chipsEdit } from './chip-edits.ts'
import { chipImport, chipImportUndo } from './chip-import.ts'
import { chipsApply, chipsRemove } from './chips.ts'
import { guestbookAssignment, guestbookUnassignment } from './guestbook-assignments.ts'
import { guestbookMints } from './guestbook-mints.ts'
import { itemApply, itemEdit } from './items.ts'
import { phygitalMetadata } from './phygital-metadata.ts'
import { phygitalTransfers } from './phygital-transfers.ts'

const all: readonly BatchKind[] = [
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
const byName = new Map(all.flatMap((kind) => kind.names.map((name) => [name, kind] as const)))

export const kindNamed = (name: string): BatchKind | undefined => byName.get(name)
