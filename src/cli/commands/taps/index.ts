import { follow } from './follow.ts'
import { list } from './list.ts'
import { simulate } from './simulate.ts'

export const verbs = [list, follow, simulate]
