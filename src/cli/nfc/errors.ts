import { CardError } from '../../nfc/card.ts'
import { UnknownCard } from '../../nfc/identify.ts'
import { CliError, exitCodes } from '../errors.ts'

/** What came between us and a card, with the code that the process ends with. Other errors stay what they are. */
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

/** In one line: what, and what to do. */
export const oneLine = (error: unknown): string => {
  const words = asCliError(error)
  if (words instanceof CliError) return [words.message, words.advice].filter(Boolean).join(' ')
  return words instanceof Error ? sentence(words.message) : String(words)
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
