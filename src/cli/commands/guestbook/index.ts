import { assign } from './assign.ts'
import { contracts } from './contracts.ts'
import { create } from './create.ts'
import { deploy } from './deploy.ts'
import { list } from './list.ts'
import { metadata } from './metadata.ts'
import { mint } from './mint.ts'
import { pause, unpause } from './pause.ts'
import { unassign } from './unassign.ts'

export const verbs = [contracts, deploy, create, list, metadata, mint, assign, unassign, pause, unpause]
