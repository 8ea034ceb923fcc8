import { create } from './create.ts'
import { list } from './list.ts'
import { remove } from './remove.ts'

export const verbs = [list, create, remove]
