import pino, { type Logger } from 'pino'
import type { Config } from './config.ts'

/** JSON lines on standard error; standard output belongs to the ready line. */
export function createLogger(level: Config['logLevel']): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: Error) => shownError(pino.stdSerializers.err(error)) },
    },
    pino.destination({ dest: 2, sync: true }),
  )
}

/** An error as it may be kept: URLs of nodes hold their keys, and bodies of requests hold signatures that are good. */
export function shownError(error: { type?: string; message?: string; stack?: string; code?: unknown }) {
  const { type, message, stack, code } = error
  return { type, message: without(message), stack: without(stack), ...(code === undefined ? {} : { code }) }
}

const without = (text = ''): string =>
  text
    .split('\n')
    .filter((line) => !/^\s*(Request body|Request Arguments|URL|data|Raw Call Arguments):/i.test(line))
    .join('\n')
    .replace(/\b(https?|wss?):\/\/[^\s"'<>)]+/gi, (url) => originOf(url))
    .replace(/0x[0-9a-f]{129,}/gi, (bytes) => `${bytes.slice(0, 10)}… (${bytes.length / 2 - 1} bytes)`)

function originOf(url: string): string {
  try {
    return new URL(url).origin
  } catch {
    return '(URL)'
  }
}
