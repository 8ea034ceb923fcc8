import { follow } from './follow.ts'
import { list } from './list.ts'
import { simulate } from './simulate.ts'
import { stats } from './stats.ts'

export const verbs = [list, stats, follow, simulate]
