import { create } from './create.ts'
import { list } from './list.ts'
import { remove } from './remove.ts'
import { rename } from './rename.ts'

export const verbs = [list, create, rename, remove]
