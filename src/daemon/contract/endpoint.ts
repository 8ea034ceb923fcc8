import type * as z from 'zod'

/** Who may call: nobody in particular, an API key's team, an OTP code's bearer, an admin token. */
export type Auth = 'none' | 'api-key' | 'code' | 'admin'

/** What an API key or an admin token may do. `all` is every one of them. */
export const scopes = ['read', 'edit', 'provision', 'transfer', 'keys', 'all'] as const
export type Scope = (typeof scopes)[number]

/** A body that is a stream of lines (or CSV), read by the handler itself. */
export interface StreamSpec {
  readonly contentTypes: readonly string[]
  readonly description: string
}

export interface EndpointSpec {
  readonly summary: string
  readonly auth: Auth
  readonly scope: Scope
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** The query's schema only describes: the handler takes it as it came, and checks it by rules of its own. */
  readonly isQueryRaw?: true
  readonly body?: z.ZodObject
  /** Present: the body is not JSON, it is streamed. */
  readonly stream?: StreamSpec
  readonly response: z.ZodType
  /** Present: the answer is a stream of this type, one `response` a line where it is JSON lines. */
  readonly answerType?: 'application/x-ndjson' | 'text/csv'
  /** `interface`: one of the 34. `beyond`: for scripts, with an API key. `admin`: under /admin. */
  readonly part: 'interface' | 'beyond' | 'admin'
  /** Bytes; the default is 1 MiB. */
  readonly bodyLimit?: number
  /** Its answer may be long, and goes out as it is read. */
  readonly isLong?: true
  /** Sends or mints something: an Idempotency-Key makes a repetition safe. */
  readonly isRepeatable?: true
  /** What does not fit is answered field by field as well: `{ success: false, errors: { path: message } }`. */
  readonly namesFields?: true
  /** Answers carry codes or refs: caches keep out. */
  readonly noStore?: boolean
}

/** Identity with a type: one definition serves validation, types, OpenAPI and the CLI's client. */
export const endpoint = <const S extends EndpointSpec>(spec: S): S => spec

/** One of the interface's endpoints that takes an API key. */
export const keyEndpoint = <const S extends Omit<EndpointSpec, 'part' | 'auth'>>(spec: S) =>
  ({ part: 'interface', auth: 'api-key', ...spec }) as const

/** An endpoint under /admin. */
export const adminEndpoint = <const S extends Omit<EndpointSpec, 'part' | 'auth'>>(spec: S) =>
  ({ part: 'admin', auth: 'admin', ...spec }) as const

type Parsed<T> = T extends z.ZodType ? z.output<T> : Record<string, never>
type Sent<T> = T extends z.ZodType ? z.input<T> : undefined

/** What a handler receives once the wire's input is validated. */
export interface Input<S extends EndpointSpec> {
  params: Parsed<S['params']>
  query: S extends { isQueryRaw: true } ? Record<string, unknown> : Parsed<S['query']>
  body: Parsed<S['body']>
}

/** What a client of the endpoint sends. */
export type Request<S extends EndpointSpec> = (S['params'] extends z.ZodType
  ? { params: Sent<S['params']> }
  : { params?: undefined }) &
  (S['query'] extends z.ZodType ? { query?: Sent<S['query']> } : { query?: undefined }) &
  (S['body'] extends z.ZodType ? { body?: Sent<S['body']> } : { body?: undefined })

export type Answer<S extends EndpointSpec> = z.output<S['response']>
