import { create } from './create.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'

export const verbs = [list, create, revoke]
