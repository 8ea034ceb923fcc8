import { cancel } from './cancel.ts'
import { list } from './list.ts'
import { show } from './show.ts'
import { status } from './status.ts'

export const verbs = [list, show, status, cancel]
