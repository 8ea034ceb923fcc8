import * as z from 'zod'
import { inWords } from '../outbound/words.ts'

const said = z.string().trim().min(1).optional().catch(undefined)

/** POAP's own errors have `message`, its gateways `Message` too, its token endpoint `error_description`. */
const errorBody = z.object({
  message: z.union([z.array(z.string()).transform((lines) => lines.join('; ')), said]).catch(undefined),
  Message: said,
  error_description: said,
  error: said,
})

/**
 * What an error says, fit to be shown to anyone; undefined where it is not POAP that speaks.
 * @param hide what it must not repeat: codes, keys, tokens
 */
export function errorMessage(body: Buffer, hide: readonly string[]): string | undefined {
  const parsed = errorBody.safeParse(readJson(body))
  const { message, Message, error_description, error } = parsed.success ? parsed.data : {}
  const text = message ?? Message ?? error_description ?? error
  return text === undefined ? undefined : safeText(text, hide)
}

/** The body as JSON; undefined for HTML, half a body, and whatever else it is not. */
export function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function safeText(text: string, hide: readonly string[]): string {
  let safe = text.toWellFormed()
  for (const secret of hide) if (secret.length >= 4) safe = safe.replaceAll(secret, '…')
  return inWords(safe)
}

const ownError = z.object({ statusCode: z.number() })

/** Whether it is POAP itself that answered so: its gateways know no `statusCode`. */
export function isOwnError(body: Buffer, status: number): boolean {
  const parsed = ownError.safeParse(readJson(body))
  return parsed.success && parsed.data.statusCode === status
}

/** Whether another code would be refused for the same reason: it lies with who is to get it. */
export const isAboutRecipient = (message: string): boolean =>
  /address|recipient|beneficiary|collector|e-?mail|\bens\b|already minted/i.test(message)

export type Complaint = 'already-claimed' | 'already-minted-by-recipient' | 'other'

/** Claims are refused with 400 and words alone: POAP has no codes for them. Both wordings of the second are in use. */
export function complaintOf(message: string): Complaint {
  if (/already minted a POAP for this drop|already claimed a code for this event/i.test(message))
    return 'already-minted-by-recipient'
  return /already claimed/i.test(message) ? 'already-claimed' : 'other'
}
