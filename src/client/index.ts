import type { CallOptions, ClientOptions, createClient as Declared } from './api.d.ts'
import { type Attempt, begin } from './exchange.ts'
import { baseOf, headerValue, type Input, messageOf, type Operation } from './operation.ts'
import { sleep, waitAfter } from './retry.ts'

export { TapchipError } from './error.ts'
export { verifyWebhook } from './webhook.ts'

/** The build takes them from the endpoint table, without its schemas. */
declare const __TAPCHIP_OPERATIONS__: Readonly<Record<string, Operation>>

export const createClient: typeof Declared = (options) => {
  const base = baseOf(options.baseUrl)
  const { apiKey } = options
  const keys: Record<string, string> =
    apiKey === undefined ? {} : { 'x-svc-api-key': headerValue('apiKey', apiKey) }
  return Object.fromEntries(
    Object.entries(__TAPCHIP_OPERATIONS__).map(([id, operation]) => [
      id,
      method(operation, base, keys, options),
    ]),
  )
}

/** What is wrong with the input is thrown where the call is awaited, as every other failure is. */
function method(
  operation: Operation,
  base: string,
  keys: Readonly<Record<string, string>>,
  { fetch, timeoutMs = 30_000, retries = 3 }: ClientOptions,
) {
  const attemptOf = (input: Input, options: CallOptions): Attempt => {
    const message = messageOf(operation, base, input)
    Object.assign(message.headers, keys)
    if (operation.repeatable)
      message.headers['idempotency-key'] = headerValue('idempotencyKey', options.idempotencyKey ?? newKey())
    // Taken at each call: tests and frameworks replace the global one, which insists on its own `this`.
    const sending = fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init))
    return {
      fetch: sending as typeof globalThis.fetch,
      method: operation.method,
      message,
      timeoutMs: options.timeoutMs ?? timeoutMs,
      signal: options.signal,
    }
  }
  const isGet = operation.method === 'GET'
  const repeatable = {
    always: operation.repeatable === true || operation.harmless === true,
    isGet,
  }
  const again = async (error: unknown, attempt: number, signal: AbortSignal | undefined): Promise<void> => {
    const wait = attempt > retries ? undefined : waitAfter(error, attempt, repeatable)
    if (wait === undefined) throw error
    await sleep(wait, signal)
  }

  const call = async (input: Input = {}, options: CallOptions = {}): Promise<unknown> => {
    const attempt = attemptOf(input, options)
    for (let count = 1; ; count++) {
      const exchange = begin(attempt)
      try {
        const answer = await exchange.answer()
        return exchange.parsed(await answer.text(), answer.status)
      } catch (error) {
        await again(exchange.failure(error), count, options.signal)
      } finally {
        exchange.end()
      }
    }
  }

  const lines = async function* (input: Input = {}, options: CallOptions = {}): AsyncGenerator<unknown> {
    const attempt = attemptOf(input, options)
    for (let count = 1; ; count++) {
      const exchange = begin(attempt)
      let hasBegun = false
      try {
        const answer = await exchange.answer()
        hasBegun = true
        let rest = ''
        const decoder = new TextDecoder()
        const reader = answer.body?.getReader()
        for (;;) {
          exchange.wait()
          const piece = await reader?.read()
          // The caller may take its time with a line.
          exchange.rest()
          const whole = (rest + decoder.decode(piece?.value, { stream: piece?.done === false })).split('\n')
          rest = piece?.done === false ? (whole.pop() ?? '') : ''
          for (const line of whole) if (line !== '') yield exchange.lineOf(line, answer)
          if (piece?.done !== false) return
        }
      } catch (error) {
        if (hasBegun) throw exchange.failure(error)
        await again(exchange.failure(error), count, options.signal)
      } finally {
        exchange.end()
      }
    }
  }
  return operation.yields ? lines : call
}

/** `crypto.randomUUID` exists only in secure contexts, which a page on a phone in the same network is not. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
