import { create } from './create.ts'
import { list } from './list.ts'
import { remove } from './remove.ts'
import { show } from './show.ts'
import { use } from './use.ts'

export const verbs = [list, show, create, use, remove]
