import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import Busboy from '@fastify/busboy'
import type * as z from 'zod'
import { required } from '../contract/list.ts'
import { DomainError, invalid } from '../domain/errors/errors.ts'
import { disconnected } from './errors.ts'
import { describeIssues, errorsOf, nulProblem } from './parse-input.ts'

export interface FormOptions {
  fields: readonly string[]
  file: string
  /** Receives the file in chunks. An error that it returns is thrown once the body has been read. */
  take(chunk: Buffer): DomainError | undefined
  maxBytes: number
}

interface Form {
  fields: Record<string, string>
  hasFile: boolean
}

const fieldBytes = 16 * 1024
/**
 * An oversized body is still read up to these limits: a client that is still sending does not notice an answer.
 */
const drainBytes = 16 * 1024 * 1024
const drainMs = 10_000
/** Time for a client that keeps sending to read the answer before the connection closes. */
const lingerMs = 2_000

/**
 * Reads a form (RFC 7578) with a streamed file, its parts in any order. The file is not buffered.
 * @throws DomainError unsupported_media_type, too_large, invalid_input, and what `take` returned
 */
export function readForm(headers: IncomingHttpHeaders, body: Readable, options: FormOptions): Promise<Form> {
  const type = headers['content-type'] ?? ''
  if (!/^multipart\/form-data *(;|$)/i.test(type))
    return Promise.reject(
      new DomainError(
        'unsupported_media_type',
        `This endpoint takes a form with a file. Send content-type: multipart/form-data, not ${type === '' ? 'none' : type.slice(0, 100)}.`,
      ),
    )
  return new Promise((resolve, reject) => {
    const reading = new Reading(options)
    const parser = reading.parser({ ...headers, 'content-type': type })
    if (!parser) {
      reject(reading.failure)
      return
    }
    let seen = 0
    let hasEnded = false
    let drainTimer: NodeJS.Timeout | undefined
    const done = () => {
      clearTimeout(drainTimer)
      if (reading.failure) reject(reading.failure)
      else resolve({ fields: Object.fromEntries(reading.fields), hasFile: reading.hasFile })
    }
    const giveUp = () => {
      body.off('data', take)
      endSoon(body)
      done()
    }
    const take = (chunk: Buffer) => {
      seen += chunk.length
      if (seen > options.maxBytes) reading.fail(tooLarge(options.maxBytes))
      if (!reading.failure) parser.write(chunk)
      if (!reading.failure) return
      drainTimer ??= setTimeout(giveUp, drainMs).unref()
      if (seen > options.maxBytes + drainBytes) giveUp()
    }
    parser.on('finish', done)
    parser.on('error', done)
    body.on('data', take)
    body.on('end', () => {
      hasEnded = true
      if (reading.failure) done()
      else parser.end()
    })
    body.on('error', (error) => reject(error instanceof DomainError ? error : disconnected()))
    body.on('close', () => {
      clearTimeout(drainTimer)
      // If a body had arrived completely before anybody read it, it closes before the parser has finished.
      if (!hasEnded) reject(malformedBody)
    })
  })
}

/** Closes the connection unless the body ends by itself before the client could have read the answer. */
function endSoon(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), lingerMs).unref()
  body.once('end', () => clearTimeout(timer))
  body.once('close', () => clearTimeout(timer))
  // Otherwise, a body without a listener stays paused, and its client waits.
  body.resume()
}

const malformed = 'body is not a complete form: check its boundary and its end'
const malformedBody = new DomainError('invalid_input', malformed)
const tooLarge = (maxBytes: number) => new DomainError('too_large', `The body is over ${maxBytes} bytes.`)

class Reading {
  readonly fields = new Map<string, string>()
  hasFile = false
  failure: DomainError | undefined
  readonly #options: FormOptions

  constructor(options: FormOptions) {
    this.#options = options
  }

  fail(failure: DomainError): void {
    this.failure ??= failure
  }

  /** @returns undefined and records the failure if the headers are not those of a form */
  parser(headers: IncomingHttpHeaders & { 'content-type': string }) {
    const { file } = this.#options
    try {
      const parser = Busboy({
        headers,
        isPartAFile: (name, type, filename) =>
          filename !== undefined || (name === file && type !== undefined && !type.startsWith('text/')),
        limits: { fieldSize: fieldBytes, fields: 100, parts: 120, headerPairs: 20, headerSize: 8 * 1024 },
      })
      parser.on('field', (name, value, _nameCut, isCut) => this.#field(name, value, isCut))
      parser.on('file', (name, stream) => this.#file(name, stream))
      parser.on('partsLimit', () => this.fail(new DomainError('invalid_input', 'body has too many parts')))
      parser.on('fieldsLimit', () => this.fail(new DomainError('invalid_input', 'body has too many fields')))
      parser.on('error', () => this.fail(malformedBody))
      return parser
    } catch {
      this.fail(new DomainError('invalid_input', 'content-type has no boundary: let your HTTP client set it'))
      return undefined
    }
  }

  #field(name: string, value: string, isCut: boolean): void {
    if (name === this.#options.file) this.fail(invalid(name, 'must be a file: give its part a filename'))
    if (!this.#options.fields.includes(name)) return
    if (isCut) this.fail(invalid(name, `must not be longer than ${fieldBytes} bytes`))
    if (value.includes('\0')) this.fail(invalid(name, nulProblem))
    if (this.fields.has(name)) this.fail(invalid(name, 'is given twice'))
    this.fields.set(name, value)
  }

  #file(name: string, stream: Readable): void {
    // For a truncated part; the parser reports it itself.
    stream.on('error', () => undefined)
    if (name !== this.#options.file) {
      const reason = `must not be a file: the only one is ${this.#options.file}`
      this.fail(invalid(name === undefined ? 'body' : name.slice(0, 100), reason))
    } else if (this.hasFile) this.fail(invalid(name, 'must be one file, not several'))
    this.hasFile = true
    stream.on('data', (chunk: Buffer) => {
      if (this.failure) return
      const failure = this.#options.take(chunk)
      if (failure) this.fail(failure)
    })
  }
}

/** Parses a form's fields by their schema. @throws DomainError invalid_input that names every invalid field */
export function checkForm<S extends z.ZodObject>(schema: S, form: Form, file: string): z.output<S> {
  const parsed = schema.safeParse(form.fields, { error: required })
  if (parsed.success && form.hasFile) return parsed.data
  const missing: z.core.$ZodIssueCustom = { code: 'custom', path: [file], message: 'Required' }
  const issues = [...(parsed.error?.issues ?? []), ...(form.hasFile ? [] : [missing])]
  throw new DomainError('invalid_input', describeIssues(issues), { errors: errorsOf(issues) })
}
