import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'

/** EX_SOFTWARE of sysexits(3): a service manager starts the daemon again. */
export const uncaughtExitCode = 70

/** The process is in an unknown state, and its errors may repeat for as long as it takes to stop. */
const maxLogged = 10

/** More would exceed the length of a log line. */
const maxListed = 10

/** Requests that are being answered. One process has one daemon. */
const open = new Set<FastifyRequest>()

/** Remembers the requests that are being answered, since an uncaught error does not say which one it belongs to. */
export function rememberRequests(app: FastifyInstance): void {
  const forget = (request: FastifyRequest) => void open.delete(request)
  app.addHook('onRequest', (request, reply, done) => {
    open.add(request)
    // Runs after other handlers of the answer's end, which can fail as well.
    reply.raw.once('close', () => process.nextTick(forget, request))
    done()
  })
}

/** @returns a promise that resolves after the first uncaught error, once that is logged */
export function uncaughtError(log: Pick<Logger, 'fatal'>): Promise<'uncaught'> {
  return new Promise((resolve) => {
    let count = 0
    process.on('uncaughtException', (error: unknown, origin) => {
      resolve('uncaught')
      count += 1
      if (count > maxLogged) return
      try {
        log.fatal(
          { err: asError(error), origin, ...openRequests() },
          `an error was not caught: the daemon finishes the requests that it has, and exits with ${uncaughtExitCode}`,
        )
      } catch {
        // An error here would end the process at once.
      }
    })
  })
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(`a value was thrown that is not an error: ${typeof error}`)

/** The route stands for the URL, which contains codes and taps. */
function openRequests() {
  const requests = [...open].slice(0, maxListed).map(({ id, method, routeOptions }) => ({
    requestId: id,
    method,
    route: routeOptions.url ?? 'none',
  }))
  const [only] = requests
  if (requests.length === 1) return only
  return requests.length === 0 ? {} : { requests, openRequests: open.size }
}
