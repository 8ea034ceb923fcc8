import * as z from 'zod'

// Messages between the process that talks to PC/SC and its parent. Both sides validate what they receive.

export const backendNames = ['nfc-pcsc', 'pcsc-mini'] as const
export type BackendName = (typeof backendNames)[number]

const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array)
const id = z.int().nonnegative()
/** A card that is lifted and put back gets a new presence number; 0 is an empty reader. */
const cardOnReader = { reader: z.string(), presence: z.int().nonnegative() }

export const toHost = z.discriminatedUnion('type', [
  /** The first message. Default backend: nfc-pcsc where it is built, else pcsc-mini. */
  z.object({ type: z.literal('start'), backend: z.enum(backendNames).optional() }),
  /** The child responds to this and each of the following with the same id. */
  z.object({ type: z.literal('ping'), id }),
  /** No other program can use the card until `release`. The response carries the card's ATR. */
  z.object({ type: z.literal('connect'), id, ...cardOnReader }),
  z.object({ type: z.literal('transmit'), id, ...cardOnReader, apdu: bytes }),
  /** A command to the reader itself, while its card is connected to. The connection survives a failure. */
  z.object({ type: z.literal('control'), id, ...cardOnReader, command: bytes }),
  z.object({ type: z.literal('release'), id, ...cardOnReader }),
])
export type ToHost = z.infer<typeof toHost>

/**
 * `gone`: the card left, or its answer did not come. `in-use`: another program uses it exclusively. `mute`: it does not
 * answer at all. `service`: the service behind the readers is gone.
 */
const refusal = z.enum(['gone', 'in-use', 'mute', 'service'])
export type Refusal = z.infer<typeof refusal>

const response = z.discriminatedUnion('status', [
  z.object({ status: z.literal('done'), data: bytes }),
  z.object({ status: z.literal('refused'), why: refusal, message: z.string() }),
])
export type HostResponse = z.infer<typeof response>

const snapshot = z.object({
  name: z.string(),
  state: z.enum(['empty', 'present', 'in-use', 'mute']),
  presence: cardOnReader.presence,
  /** Its name says that it is a slot for cards with contacts. */
  isContact: z.boolean(),
  /** As far as the backend tells without connecting to the card. */
  hasContactCard: z.boolean(),
})
export type ReaderSnapshot = z.infer<typeof snapshot>

export const fromHost = z.discriminatedUnion('type', [
  /** Sent once, before the first readers. */
  z.object({ type: z.literal('started'), backend: z.enum(backendNames) }),
  /** All readers, sent once the initial ones are known and then after every change. */
  z.object({ type: z.literal('readers'), readers: z.array(snapshot) }),
  z.object({ type: z.literal('response'), id, response }),
  /** The child cannot continue and waits to be killed. */
  z.object({ type: z.literal('failed'), why: z.enum(['no-backend', 'broken']), message: z.string() }),
])
export type FromHost = z.infer<typeof fromHost>

export type HostRequest = Extract<ToHost, { id: number }>
