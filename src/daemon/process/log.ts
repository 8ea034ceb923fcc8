import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { whyLost } from '../store/data-dir/disk.ts'
import { stdioWriter } from './stdio.ts'

const debugLevel = 20
const maxBytes = 8192
const maxMessageLength = 1000
const maxStackLength = 4000

/** Writes JSON lines to standard error; standard output is reserved for the ready line. */
export function createLogger(level: Config['logLevel'], out: DestinationStream = stdioWriter(2)): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: {
        // A lost database is logged once, and once when it is back.
        logMethod([fields, ...more], method, level) {
          const err =
            typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined
          if (level > debugLevel && whyLost(err) !== undefined) this.debug(fields, ...more)
          else method.apply(this, [fields, ...more])
        },
      },
      serializers: { err: (error: Error) => shownError(pino.stdSerializers.err(error)) },
    },
    { write: (line) => out.write(shortened(line)) },
  )
}

/** Bounds the length of a line, whatever outside input it contains. */
function shortened(line: string): string {
  if (Buffer.byteLength(line) <= maxBytes) return line
  const { level, time, pid, requestId, msg, ...rest }: Record<string, unknown> = JSON.parse(line)
  const head = { level, time, pid, requestId, ...cutAll({ msg }) }
  const truncatedLine = `${JSON.stringify({ ...head, ...cutAll(rest), isCut: true })}\n`
  return Buffer.byteLength(truncatedLine) <= maxBytes
    ? truncatedLine
    : `${JSON.stringify({ ...head, isCut: true })}\n`
}

const cutAll = (fields: Record<string, unknown>): object =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cut(value, 3)]))

function cut(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return truncate(value, 300)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return '…'
  if (Array.isArray(value)) return value.slice(0, 10).map((item) => cut(item, depth - 1))
  const entries = Object.entries(value).slice(0, 20)
  return Object.fromEntries(entries.map(([name, item]) => [truncate(name, 100), cut(item, depth - 1)]))
}

const truncate = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength)}…` : text

/** Removes secrets from an error: node URLs contain API keys, and request bodies contain valid signatures. */
function shownError(error: { type?: string; message?: string; stack?: string; code?: unknown }) {
  const { type, message, stack, code } = error
  return {
    type,
    message: without(message, maxMessageLength),
    stack: without(stack, maxStackLength),
    ...(code === undefined ? {} : { code }),
  }
}

const without = (text = '', maxLength: number): string =>
  // Truncation may cut off URLs at the end; they are still recognized.
  truncate(text, maxLength)
    .split('\n')
    .filter((line) => !/^\s*(Request body|Request Arguments|URL|data|Raw Call Arguments):/i.test(line))
    .join('\n')
    .replace(/\b(https?|wss?|smtps?):\/\/[^\s"'<>)]+/gi, (url) => originOf(url))
    .replace(/0x[0-9a-f]{129,}/gi, (bytes) => `${bytes.slice(0, 10)}… (${bytes.length / 2 - 1} bytes)`)

function originOf(url: string): string {
  try {
    return new URL(url).origin
  } catch {
    return '(URL)'
  }
}
