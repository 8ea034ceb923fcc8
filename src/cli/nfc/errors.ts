import { CardError } from '../../nfc/card.ts'
import { UnknownCard } from '../../nfc/identify.ts'
import { CliError, exitCodes } from '../errors.ts'

/** Turns errors of cards and readers into messages with their exit codes; other errors are returned as they are. */
export const asCliError = (error: unknown): unknown => {
  if (error instanceof CardError)
    return new CliError(sentence(error.message), {
      exitCode: exitCodes.noReader,
      advice: sentence(error.advice),
      cause: error,
    })
  if (error instanceof UnknownCard)
    return new CliError(sentence(error.message), { advice: sentence(error.advice), cause: error })
  return error
}

export const oneLine = (error: unknown): string => {
  const cliError = asCliError(error)
  if (cliError instanceof CliError) return [cliError.message, cliError.advice].filter(Boolean).join(' ')
  return cliError instanceof Error ? sentence(cliError.message) : String(cliError)
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
