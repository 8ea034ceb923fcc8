import type * as z from 'zod'
import type { Scope } from '../../values/scopes.ts'

/** Anyone, an API key, an OTP code's bearer, or an admin token as well as an API key (under /admin). */
export type Auth = 'none' | 'api-key' | 'code' | 'admin'

/** A body of lines or CSV that the handler reads itself. */
export interface StreamSpec {
  readonly contentTypes: readonly string[]
  readonly description: string
}

export interface EndpointSpec {
  /** The operation id: unique in the table, and the method's name in generated clients and in tapchip/client. */
  readonly id: string
  readonly summary: string
  /** Sentences beyond the summary, in Markdown, for the OpenAPI document. */
  readonly description?: string
  /** An example body for the OpenAPI document, if the required fields alone do not make a valid one. */
  readonly example?: object
  readonly auth: Auth
  /** Needs no API key, but may say more, or decide otherwise, with one. */
  readonly keyIsOptional?: true
  readonly scope: Scope
  /** Concerns the daemon or all of its teams, so credentials of one team are refused. */
  readonly isForAllTeams?: true
  /** Schemas are built lazily; building all of them slows start-up. */
  readonly params?: () => z.ZodObject
  readonly query?: () => z.ZodObject
  /** The schema is for documentation only: the handler receives and checks the raw query. */
  readonly isQueryRaw?: true
  readonly body?: () => z.ZodObject
  /** If present, the body is streamed, not JSON. */
  readonly stream?: StreamSpec
  /** The fields of a streamed form, for the OpenAPI document; its file is `image`. */
  readonly form?: () => z.ZodObject
  /** Only documents and stored answers need it. */
  readonly response: () => z.ZodType
  /** If present, the answer is a stream; with JSON lines, each line is one `response`. */
  readonly answerType?: 'application/x-ndjson' | 'text/csv'
  /**
   * `interface`: one of the 34. `public`: reads that apps need beyond them, by anyone. `beyond`: for scripts with an API
   * key. `admin`: under /admin.
   */
  readonly part: 'interface' | 'public' | 'beyond' | 'admin'
  /** Fields that clients send as null or empty where they mean none. */
  readonly emptyIsAbsent?: readonly string[]
  /** Bytes; the default is 1 MiB. */
  readonly bodyLimit?: number
  /** The answer may be long and is streamed. */
  readonly isLong?: true
  /** `input`: has effects outside the database, so a dry run checks only its caller and its input. */
  readonly dryRun?: 'input'
  /** Has an effect that must not happen twice; an Idempotency-Key makes it safe to repeat. */
  readonly isRepeatable?: true
  /** Validation errors are also listed by field: `{ success: false, errors: { path: message } }`. */
  readonly namesFields?: true
  /** Takes the tap in its query; real taps do not count toward the limit of their address. */
  readonly takesTap?: true
  /** Answers contain codes or refs and must not be cached. */
  readonly noStore?: boolean
}

/** One definition serves validation, types, OpenAPI, and the CLI's client. */
export const endpoint = <const S extends EndpointSpec>(spec: S): S => spec

/** An endpoint of the interface that requires an API key. */
export const keyEndpoint = <const S extends Omit<EndpointSpec, 'part' | 'auth'>>(spec: S) =>
  ({ part: 'interface', auth: 'api-key', ...spec }) as const

/** A read endpoint without authentication. An API key may show more. */
export const publicEndpoint = <const S extends Omit<EndpointSpec, 'part' | 'auth' | 'scope'>>(spec: S) =>
  ({ part: 'public', auth: 'none', scope: 'read', keyIsOptional: true, ...spec }) as const

/** An endpoint under /admin. */
export const adminEndpoint = <const S extends Omit<EndpointSpec, 'part' | 'auth'>>(spec: S) =>
  ({ part: 'admin', auth: 'admin', ...spec }) as const

type Schema = () => z.ZodType
type Parsed<T> = T extends Schema ? z.output<ReturnType<T>> : Record<string, never>
type Unparsed<T> = T extends Schema ? z.input<ReturnType<T>> : undefined

export interface Input<S extends EndpointSpec> {
  params: Parsed<S['params']>
  query: S extends { isQueryRaw: true } ? Record<string, unknown> : Parsed<S['query']>
  body: Parsed<S['body']>
}

export type Request<S extends EndpointSpec> = (S['params'] extends Schema
  ? { params: Unparsed<S['params']> }
  : { params?: undefined }) &
  (S['query'] extends Schema ? { query?: Unparsed<S['query']> } : { query?: undefined }) &
  (S['body'] extends Schema ? { body?: Unparsed<S['body']> } : { body?: undefined })

export type Answer<S extends EndpointSpec> = z.output<ReturnType<S['response']>>
