import { approve } from './approve.ts'
import { assign } from './assign.ts'
import { claims } from './claims.ts'
import { create } from './create.ts'
import { held } from './held.ts'
import { list } from './list.ts'
import { mint } from './mint.ts'
import { reject } from './reject.ts'
import { show } from './show.ts'
import { unassign } from './unassign.ts'

export const verbs = [list, show, create, assign, unassign, mint, approve, reject, claims, held]
