import { notTapchip, refusal, TapchipError } from './error.ts'
import type { Message } from './operation.ts'

export interface Attempt {
  readonly fetch: typeof globalThis.fetch
  readonly method: string
  readonly message: Message
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** One request with its answer, under one deadline. Whoever begins it ends it. */
export function begin({ fetch, method, message, timeoutMs, signal }: Attempt) {
  const { host } = new URL(message.url)
  const late = new TapchipError(
    'timeout',
    `${host} did not answer within ${timeoutMs} ms. The request may still be processed.`,
  )
  const ends = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = () => ends.abort(signal?.reason)
  const rest = () => clearTimeout(timer)
  /** Starts the deadline. */
  const wait = () => {
    rest()
    timer = setTimeout(() => ends.abort(late), timeoutMs)
  }
  const end = () => {
    rest()
    signal?.removeEventListener('abort', stop)
    ends.abort()
  }

  /** @throws TapchipError for an answer that is no success */
  const answer = async (): Promise<Response> => {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', stop, { once: true })
    wait()
    const got = await fetch(message.url, {
      method,
      headers: message.headers,
      ...(message.body === undefined ? {} : { body: message.body }),
      signal: ends.signal,
      // Elsewhere a redirect would take the key along.
      redirect: 'manual',
    })
    if (got.type === 'opaqueredirect' || (got.status >= 300 && got.status < 400))
      throw notTapchip(host, 'answered with a redirect', { status: got.status })
    if (!got.ok) throw refusal(got.status, got.headers, await got.text(), host)
    return got
  }

  /** The value of one answer, or of one line of it. */
  const parsed = (text: string, status: number): unknown => {
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw notTapchip(host, `answered ${status} without JSON`, { status, cause })
    }
  }

  /** A stream that fails after its headers were sent can only report it in a line. */
  const lineOf = (line: string, got: Response): unknown => {
    const failed = /^\{"statusCode":(\d{3}),/.exec(line)?.[1]
    if (failed !== undefined) throw refusal(Number(failed), got.headers, line, host)
    return parsed(line, got.status)
  }

  const failure = (error: unknown): unknown => {
    if (signal?.aborted) return signal.reason
    if (ends.signal.aborted) return late
    if (error instanceof TapchipError) return error
    return new TapchipError('unreachable', `No answer from ${host}: ${whyOf(error)}.`, { cause: error })
  }
  return { answer, wait, rest, parsed, lineOf, failure, end }
}

/** Node says why in the cause; browsers do not say it. */
function whyOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
}
