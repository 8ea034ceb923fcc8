import { approve } from './approve.ts'
import { cancel } from './cancel.ts'
import { follow } from './follow.ts'
import { list } from './list.ts'
import { pause } from './pause.ts'
import { remove } from './remove.ts'
import { report } from './report.ts'
import { resume } from './resume.ts'
import { status } from './status.ts'
import { undo } from './undo.ts'

export const verbs = [list, status, follow, report, pause, resume, undo, approve, cancel, remove]
