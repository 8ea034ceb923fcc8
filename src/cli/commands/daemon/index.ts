import { logs } from './logs.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'

export const verbs = [start, stop, status, logs]
