import { approve } from './approve.ts'
import { assign } from './assign.ts'
import { claims } from './claims.ts'
import { create } from './create.ts'
import { list } from './list.ts'
import { mint } from './mint.ts'
import { reject } from './reject.ts'

export const verbs = [list, create, assign, mint, approve, reject, claims]
