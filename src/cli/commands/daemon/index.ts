import { install } from './install.ts'
import { logs } from './logs.ts'
import { rollRootToken } from './roll-root-token.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'
import { uninstall } from './uninstall.ts'

export const verbs = [start, stop, status, logs, install, uninstall, rollRootToken]
