import pino, { type Logger } from 'pino'
import type { Config } from './config.ts'

/** JSON lines on standard error; standard output belongs to the ready line. */
export function createLogger(level: Config['logLevel']): Logger {
  return pino(
    { level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
}
