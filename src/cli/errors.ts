import { ApiError, DaemonUnreachable } from './client/errors.ts'

/** Documented in `tapchip help exit-codes`. */
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

export class UsageError extends CliError {
  override readonly name = 'UsageError'
  constructor(message: string, advice?: string) {
    super(message, { exitCode: exitCodes.usage, ...(advice === undefined ? {} : { advice }) })
  }
}

/** A required key or token is missing; known before any request. */
export class MissingCredential extends CliError {
  override readonly name = 'MissingCredential'
  /** If nothing listens at this address, that is reported instead. */
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

/** Ends a dry run after it has printed what it would do; exit code 0. */
export class DryRunEnded extends Error {
  override readonly name = 'DryRunEnded'
}

const exitCodeOfStatus = (status: number): ExitCode => {
  if (status === 401 || status === 403) return exitCodes.authentication
  // Invalid input that only the daemon could find.
  if (status === 400 || status === 413 || status === 415) return exitCodes.usage
  return exitCodes.failed
}

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

/** Adds advice that is printed after the cause: how to resume a batch, say. */
export const withTrailingAdvice = (error: unknown, text: string): unknown => {
  if (error instanceof ApiError || error instanceof DaemonUnreachable) error.afterword = text
  else if (error instanceof Error) error.message += `\n${text}`
  return error
}

/** Messages may name requests of the interface; here, commands take their place. */
const withCommands = (message: string): string =>
  message
    .replace(/^No such OTP\. Check the id,/, 'There is no such code. Check it,')
    .replace(/^No such team\. Check the id.*/, 'There is no such team. List them: tapchip teams list')
    .replace(' (`team` in a request)', '')
    .replace(/ ?\(POST \/events\/contracts\)/, ' (tapchip guestbook deploy)')
    .replace(/ ?\((GET|POST|PUT|PATCH|DELETE) \/[^\s)]*\)/g, '')

const adviceOf = (error: ApiError): string | undefined => {
  // The message says what to do, and names the teams.
  if (error.code === 'team_required') return undefined
  if (error.code === 'registration_missing')
    return 'Register: tapchip phygitals claim-registration create --code CODE --recipient WHO'
  // These concern a tap or a wallet's signature, not the API key.
  if (/^(otp|signature)_/.test(error.code)) return undefined
  if (error.code === 'forwarded_refused')
    return 'Set TAPCHIP_ADMIN_URL to the address of its administration (tapchip daemon status shows it there)'
  if (error.statusCode === 401 || error.statusCode === 403)
    return 'Check your keys: tapchip doctor · Save a key: tapchip login'
  // Its message says when the day ends.
  if (error.code === 'transaction_budget_spent') return undefined
  if (error.statusCode === 429 && error.retryAfter) return `Try again in ${error.retryAfter} s`
  return undefined
}
