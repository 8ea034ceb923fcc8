import type { IncomingMessage } from 'node:http'
import type * as z from 'zod'
// Types only: loading the schemas would slow the CLI's start.
import type { Answer, Request, StreamSpec } from '../../daemon/contract/endpoint.ts'
import type { EndpointKey, Endpoints } from '../../daemon/contract/index.ts'

export type { EndpointKey, Endpoints }

export type AnswerOf<K extends EndpointKey> = Answer<Endpoints[K]>

/** The element type of an endpoint that answers with a list. */
export type ElementOf<K extends EndpointKey> = AnswerOf<K> extends readonly (infer E)[] ? E : never

type InHeaders<S> = (S extends { auth: 'code' } ? { readonly code: string } : unknown) &
  // With it, a request may be repeated and takes effect once.
  (S extends { isRepeatable: true } ? { readonly idempotencyKey?: string | undefined } : unknown) &
  // A form. It may be sent again, so its content must be readable more than once.
  (S extends { stream: StreamSpec } ? { readonly upload: Upload } : unknown)

/** The request is required if it has path parameters, a code or a form. */
export type CallArguments<K extends EndpointKey> = Endpoints[K] extends
  | { params: () => z.ZodObject }
  | { auth: 'code' }
  | { stream: StreamSpec }
  ? [request: Request<Endpoints[K]> & InHeaders<Endpoints[K]>]
  : [request?: Request<Endpoints[K]> & InHeaders<Endpoints[K]>]

export type StreamKey = {
  [K in EndpointKey]: Endpoints[K] extends { answerType: string } ? K : never
}[EndpointKey]

export interface Upload {
  readonly contentType: string
  readonly content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>
}

export type StreamRequest<K extends StreamKey> = Omit<Request<Endpoints[K]>, 'body'> & {
  readonly upload?: Upload
  readonly signal?: AbortSignal
  /** The longest silence, in which it does not count as broken off. */
  readonly idleTimeoutMs?: number
}

/** A request that changes something; a GET may, since it can use a tap up. */
export interface Change {
  readonly key: string
  readonly isRead: boolean
  /** The code decides the team, not our key. */
  readonly code?: string | undefined
}

export interface ClientOptions {
  readonly url: string
  readonly apiKey?: string | undefined
  /** Called at the first request under /admin: it may read a file. */
  readonly adminToken?: (() => string | undefined) | undefined
  readonly adminUrl?: (() => string) | undefined
  /** The daemon that the keys are for. Another one gets no key. */
  readonly instance?: string | undefined
  readonly contextName?: string | undefined
  /** The batch that is running, which the daemon's audit log names. */
  readonly batch?: (() => string | undefined) | undefined
  readonly wirePrefix?: string
  readonly wireBadge?: string
  readonly timeoutMs?: number
  /** Called before each change. If it throws, the request is not sent. */
  readonly beforeChange?: (request: Change) => Promise<void>
  readonly onWait?: (seconds: number) => void
  readonly sleep?: (ms: number) => Promise<void>
  readonly random?: () => number
}

/** A request of somebody else, who is answered by the daemon itself. */
export interface ForwardedRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  /** JSON. */
  readonly body?: string | undefined
  readonly signal?: AbortSignal
}

export interface Client {
  readonly url: URL
  /** @throws ApiError, DaemonUnreachable */
  call<K extends EndpointKey>(key: K, ...request: CallArguments<K>): Promise<AnswerOf<K>>
  /**
   * Has the daemon check a request up to its first write, which it rolls back.
   * @returns what was checked: the request's input alone, if its effect is outside the database
   * @throws what `call` would throw
   */
  tryOut(key: EndpointKey, request: object): Promise<'all' | 'input'>
  /** Yields the lines of the answer as they arrive; sends `upload` as fast as the daemon takes it. */
  stream<K extends StreamKey>(key: K, request: StreamRequest<K>): AsyncGenerator<AnswerOf<K>>
  /** Sends a request once and hands on the daemon's response as it is, whatever its status. @throws DaemonUnreachable */
  forward(key: EndpointKey, request: ForwardedRequest): Promise<IncomingMessage>
  /** The instance ID that the daemon reports; asked without a key. */
  instance(): Promise<string | undefined>
  probe(path: string): Promise<{ status: number; text: string; date: string | undefined }>
  close(): void
}
