import * as z from 'zod'

// What the process that talks to PC/SC and its parent say to each other. Both sides check what they are told.

export const backendNames = ['nfc-pcsc', 'pcsc-mini'] as const
export type BackendName = (typeof backendNames)[number]

const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array)
const id = z.int().nonnegative()
/** Which card on which reader: a card that is lifted and put back is another presence. 0: none. */
const place = { reader: z.string(), presence: z.int().nonnegative() }

export const toHost = z.discriminatedUnion('type', [
  /** First of all. Without a backend: nfc-pcsc where it is built, else pcsc-mini. */
  z.object({ type: z.literal('start'), backend: z.enum(backendNames).optional() }),
  /** Each of these is answered, with its id. */
  z.object({ type: z.literal('ping'), id }),
  /** Answered with the card's ATR. */
  z.object({ type: z.literal('connect'), id, ...place }),
  z.object({ type: z.literal('transmit'), id, ...place, apdu: bytes }),
  z.object({ type: z.literal('release'), id, ...place }),
])
export type ToHost = z.infer<typeof toHost>

/**
 * Why a card could not be talked to: it left (or its answer did not come), another program holds it for itself, it
 * does not answer at all, or the service behind the readers is gone.
 */
const refusal = z.enum(['gone', 'in-use', 'mute', 'service'])
export type Refusal = z.infer<typeof refusal>

const outcome = z.discriminatedUnion('status', [
  z.object({ status: z.literal('done'), data: bytes }),
  z.object({ status: z.literal('refused'), why: refusal, message: z.string() }),
])
export type Outcome = z.infer<typeof outcome>

const snapshot = z.object({
  name: z.string(),
  state: z.enum(['empty', 'present', 'in-use', 'mute']),
  presence: place.presence,
})
export type ReaderSnapshot = z.infer<typeof snapshot>

export const fromHost = z.discriminatedUnion('type', [
  /** Once, before the first readers. */
  z.object({ type: z.literal('started'), backend: z.enum(backendNames) }),
  /** All readers, whenever one of them changed: first when those that were there from the start are known. */
  z.object({ type: z.literal('readers'), readers: z.array(snapshot) }),
  z.object({ type: z.literal('answer'), id, outcome }),
  /** It can go on no more, and waits to be ended. */
  z.object({ type: z.literal('failed'), why: z.enum(['no-backend', 'broken']), message: z.string() }),
])
export type FromHost = z.infer<typeof fromHost>

export type Request = Extract<ToHost, { id: number }>
