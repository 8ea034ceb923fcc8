import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { plainText } from '../outbound/foreign-text.ts'
import { creationResponse } from './creation-response.ts'
import { monthFirst, readDay } from './dates.ts'
import type { BadgeImage, CreationResponse, NewBadgeEvent, TransactionState } from './provider.ts'

// POAP omits fields, or sends null or '' for them, so only what is needed is required.
const words = z.string().nullish().catch(undefined)
const flag = z.boolean().nullish().catch(undefined)
const whole = z.number().int().nullish().catch(undefined)

export const tokenAnswer = z.object({
  access_token: z.string().min(1).max(10_000),
  /** Seconds. */
  expires_in: z.number().positive().optional(),
})

export const createdEvent = z.object({
  id: z.number().int().positive(),
  fancy_id: words,
  name: words,
  description: words,
  city: words,
  country: words,
  event_url: words,
  image_url: words,
  animation_url: words,
  year: whole,
  start_date: words,
  end_date: words,
  expiry_date: words,
  from_admin: flag,
  virtual_event: flag,
  event_template_id: whole,
  private_event: flag,
})

const qrHash = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

export const qrCodes = z.array(z.object({ qr_hash: qrHash, claimed: z.boolean() }))

export const activeRequests = z
  .array(z.object({ active: z.number() }))
  .transform((all) => all.reduce((sum, { active }) => sum + active, 0))

export const claimLookUp = z.object({
  qr_hash: qrHash,
  claimed: z.boolean(),
  is_active: flag,
  /** `NOT_REQUIRED_ANYMORE` on some codes; sent back unchanged. */
  secret: words,
  user_input: words,
  beneficiary: words,
  tx_hash: words,
  tx_status: words,
})

export const claimAnswer = z.object({ qr_hash: qrHash })

export const transactions = z.object({
  transactions: z.array(z.object({ tx_hash: words, status: words })),
})

export const anything = z.unknown()

/**
 * Converts POAP's answer to the interface's shape: dates become MM-DD-YYYY, and missing fields are taken from
 * the request.
 */
export function toCreationResponse(
  created: z.infer<typeof createdEvent>,
  sent: NewBadgeEvent,
): CreationResponse {
  const asSent = creationResponse(sent, { id: created.id, imageUrl: '' })
  const date = (text: string | null | undefined, otherwise: string) => {
    const day = readDay(text ?? '')
    return day === undefined ? otherwise : monthFirst(day)
  }
  const nonNull = Object.entries(created).filter(([, value]) => value !== null && value !== undefined)
  return {
    ...asSent,
    ...Object.fromEntries(nonNull),
    fancy_id: created.fancy_id || asSent.fancy_id,
    start_date: date(created.start_date, asSent.start_date),
    end_date: date(created.end_date, asSent.end_date),
    expiry_date: date(created.expiry_date, asSent.expiry_date),
  }
}

interface WireTransaction {
  tx_hash?: string | null | undefined
  /** `waiting_tx`, `pending`, `bumped`, `passed`, `failed`, or nothing. */
  status?: string | null | undefined
}

export function toTransactionState({ tx_hash, status }: WireTransaction): TransactionState {
  const hash = tx_hash && /^0x[0-9a-f]{64}$/i.test(tx_hash) ? { hash: tx_hash } : {}
  if (status === 'passed') return { kind: 'mined', ...hash }
  if (status === 'failed') return { kind: 'failed', ...hash }
  return status || 'hash' in hash ? { kind: 'pending', ...hash } : { kind: 'none' }
}

/** If a mint has several attempts, a successful one wins, then a pending one. */
export function toOneState(all: readonly WireTransaction[]): TransactionState {
  const states = all.map(toTransactionState)
  const firstOf = (kind: TransactionState['kind']) => states.find((state) => state.kind === kind)
  return firstOf('mined') ?? firstOf('pending') ?? firstOf('failed') ?? { kind: 'none' }
}

const optionalText = z.string().trim().min(1).optional().catch(undefined)

/** POAP's own errors have `message`, its gateways also `Message`, its token endpoint `error_description`. */
const errorBody = z.object({
  message: z
    .union([z.array(z.string()).transform((lines) => lines.join('; ')), optionalText])
    .catch(undefined),
  Message: optionalText,
  error_description: optionalText,
  error: optionalText,
})

/**
 * Returns an error's message, safe to show to anyone; undefined if the answer is not from POAP.
 * @param hide secrets to remove: codes, keys, tokens
 */
export function errorMessage(body: Buffer, hide: readonly string[]): string | undefined {
  const parsed = errorBody.safeParse(readJson(body))
  const { message, Message, error_description, error } = parsed.success ? parsed.data : {}
  const text = message ?? Message ?? error_description ?? error
  return text === undefined ? undefined : safeText(text, hide)
}

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
  return plainText(safe)
}

const ownError = z.object({ statusCode: z.number() })

/** POAP's own errors have `statusCode`, those of its gateways do not. */
export function isOwnError(body: Buffer, status: number): boolean {
  const parsed = ownError.safeParse(readJson(body))
  return parsed.success && parsed.data.statusCode === status
}

/** Every other code would be refused for the same reason, because it lies with the recipient. */
export const isAboutRecipient = (message: string): boolean =>
  /address|recipient|beneficiary|collector|e-?mail|\bens\b|already minted/i.test(message)

type Complaint = 'already-claimed' | 'already-minted-by-recipient' | 'other'

/**
 * POAP refuses claims with 400 and a message, without an error code. Both wordings of the second case are in
 * use.
 */
export function complaintOf(message: string): Complaint {
  if (/already minted a POAP for this drop|already claimed a code for this event/i.test(message))
    return 'already-minted-by-recipient'
  return /already claimed/i.test(message) ? 'already-claimed' : 'other'
}

export interface Multipart {
  headers: { 'content-type': string; 'content-length': string }
  /** Can be read once. @throws Error if the image is not as long as declared */
  body: AsyncIterable<Uint8Array>
}

/**
 * A form with an image as its last part (RFC 7578). The image is streamed; the total length is known in
 * advance.
 */
export function multipart(fields: Readonly<Record<string, string>>, image: BadgeImage): Multipart {
  // A value cannot end its own part: whoever wrote it does not know the boundary.
  const boundary = `tapchip-${randomBytes(24).toString('hex')}`
  const part = (disposition: string) => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  // The filename depends on the image's type, not on the sender.
  const file = `${part(`name="image"; filename="badge.${image.extension}"`)}content-type: ${image.type}\r\n\r\n`
  const head = Buffer.from(texts.join('') + file)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + image.size + tail.length),
    },
    body: parts(head, image, tail),
  }
}

async function* parts(head: Buffer, image: BadgeImage, tail: Buffer): AsyncIterable<Uint8Array> {
  yield head
  let size = 0
  for await (const chunk of image.bytes()) {
    size += chunk.length
    if (size > image.size) break
    yield chunk
  }
  if (size !== image.size)
    throw new Error(`The image should have ${image.size} bytes, and has a different number`)
  yield tail
}
