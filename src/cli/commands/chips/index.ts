import { applySheet } from './apply.ts'
import { disable } from './disable.ts'
import { edit } from './edit.ts'
import { editSelf } from './edit-self.ts'
import { enable } from './enable.ts'
import { exportChips } from './export.ts'
import { find } from './find.ts'
import { importChips } from './import.ts'
import { link } from './link.ts'
import { list } from './list.ts'
import { move } from './move.ts'
import { remove } from './remove.ts'
import { rename } from './rename.ts'
import { replace } from './replace.ts'
import { show } from './show.ts'
import { unlink } from './unlink.ts'

export const verbs = [
  list,
  show,
  find,
  edit,
  editSelf,
  applySheet,
  importChips,
  exportChips,
  link,
  unlink,
  replace,
  move,
  rename,
  disable,
  enable,
  remove,
]
