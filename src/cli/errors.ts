import { ApiError, DaemonUnreachable } from './client/errors.ts'

/** What the process ends with. Listed for people in `tapchip help exit-codes`. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  partial: 3,
  authentication: 4,
  unreachable: 5,
  noReader: 6,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** An end that the person can do something about. `message` says what and why, `advice` what next. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: ExitCode
  readonly advice: string | undefined

  constructor(message: string, options: { exitCode?: ExitCode; advice?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.exitCode = options.exitCode ?? exitCodes.failed
    this.advice = options.advice
  }
}

/** The command line, or the input it names, does not fit. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'
  constructor(message: string, advice?: string) {
    super(message, { exitCode: exitCodes.usage, ...(advice === undefined ? {} : { advice }) })
  }
}

/** A key or token that the command needs is not there: known before any request. */
export class MissingCredential extends CliError {
  override readonly name = 'MissingCredential'
  /** The address that it is needed for; where nothing listens there, that is what to say. */
  readonly neededAt: string | undefined
  constructor(message: string, advice: string, neededAt?: string) {
    super(message, { exitCode: exitCodes.authentication, advice })
    this.neededAt = neededAt
  }
}

export class Interrupted extends CliError {
  override readonly name = 'Interrupted'
  constructor(message = 'Interrupted', advice?: string) {
    super(message, { exitCode: exitCodes.interrupted, ...(advice === undefined ? {} : { advice }) })
  }
}

/** A dry run has shown what it would have done, and ends there: done. */
export class DryRunEnded extends Error {
  override readonly name = 'DryRunEnded'
}

const exitCodeOfStatus = (status: number): ExitCode => {
  if (status === 401 || status === 403) return exitCodes.authentication
  // The daemon found what the person gave unfit, which the command line could not know.
  if (status === 400 || status === 413 || status === 415) return exitCodes.usage
  return exitCodes.failed
}

/** What to print and how to end, for anything that was thrown. */
export const describeError = (error: unknown): { lines: string[]; exitCode: ExitCode } => {
  if (error instanceof CliError) {
    return { lines: [error.message, ...(error.advice ? [error.advice] : [])], exitCode: error.exitCode }
  }
  if (error instanceof DaemonUnreachable) {
    const afterword = error.afterword === undefined ? [] : [error.afterword]
    return { lines: [`${error.message} ${error.advice}`, ...afterword], exitCode: exitCodes.unreachable }
  }
  if (error instanceof ApiError) {
    const trace = error.statusCode >= 500 && error.requestId ? [`Request id: ${error.requestId}`] : []
    const advice = adviceOf(error)
    return {
      lines: [
        withCommands(error.message),
        ...(advice ? [advice] : []),
        ...trace,
        ...(error.afterword === undefined ? [] : [error.afterword]),
      ],
      exitCode: exitCodeOfStatus(error.statusCode),
    }
  }
  return { lines: [error instanceof Error ? error.message : String(error)], exitCode: exitCodes.failed }
}

/** The same error, with what is to be said after its cause and what to do about that: where a batch stands. */
export const withAfterword = (error: unknown, words: string): unknown => {
  if (error instanceof ApiError || error instanceof DaemonUnreachable) error.afterword = words
  else if (error instanceof Error) error.message += `\n${words}`
  return error
}

/** Here there are commands: the requests of the interface, which some messages name, are for programs. */
const withCommands = (message: string): string =>
  message
    .replace(/^No such OTP\. Check the id,/, 'There is no such code. Check it,')
    .replace(/ ?\(POST \/events\/contracts\)/, ' (tapchip guestbook deploy)')
    .replace(/ ?\((GET|POST|PUT|PATCH|DELETE) \/[^\s)]*\)/g, '')

const adviceOf = (error: ApiError): string | undefined => {
  // Where there is none at all, the message says what to do.
  if (error.code === 'team_required' && /no team yet/.test(error.message)) return undefined
  if (error.code === 'team_required') return 'Say which: --team NAME (tapchip teams list)'
  if (error.code === 'registration_missing')
    return 'Register: tapchip phygitals claim-registration create --code CODE --recipient WHO'
  // That is about a tap, or a wallet's signature; our own key has nothing to do with it.
  if (/^(otp|signature)_/.test(error.code)) return undefined
  if (error.statusCode === 401 || error.statusCode === 403)
    return 'Who am I? tapchip doctor · Set a key: tapchip login'
  // Its message says when the day is over.
  if (error.code === 'transaction_budget_spent') return undefined
  if (error.statusCode === 429 && error.retryAfter) return `Try again in ${error.retryAfter} s`
  return undefined
}
