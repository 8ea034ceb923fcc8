import type { Kind } from './kind.ts'
import { apply, removal } from './kinds/apply.ts'
import { badgeAssignment, badgeCreation } from './kinds/badges.ts'
import { box } from './kinds/box.ts'
import { edit } from './kinds/edit.ts'
import { chipImport } from './kinds/import.ts'
import { items } from './kinds/items.ts'
import { metadata } from './kinds/metadata.ts'
import { transfer } from './kinds/transfer.ts'

export const kinds: readonly Kind[] = [
  apply,
  removal,
  edit,
  chipImport,
  transfer,
  metadata,
  badgeCreation,
  badgeAssignment,
  items,
  box,
]
