import { apply } from './apply.ts'
import { chips } from './chips.ts'
import { create } from './create.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { remove } from './remove.ts'
import { show } from './show.ts'

export const verbs = [list, show, chips, create, edit, apply, remove]
