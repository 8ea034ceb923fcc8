import { cancel } from './cancel.ts'
import { list } from './list.ts'
import { show } from './show.ts'

export const verbs = [list, show, cancel]
