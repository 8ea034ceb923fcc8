import { exportAudit } from './export.ts'
import { list } from './list.ts'
import { verify } from './verify.ts'

export const verbs = [list, verify, exportAudit]
