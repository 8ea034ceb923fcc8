import { list } from './list.ts'
import { remove } from './remove.ts'
import { report } from './report.ts'
import { resume } from './resume.ts'
import { status } from './status.ts'
import { undo } from './undo.ts'

export const verbs = [list, status, resume, report, undo, remove]
