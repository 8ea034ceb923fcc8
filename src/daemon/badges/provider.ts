import { randomInt } from 'node:crypto'

/** A badge event as its team gives it. Days are YYYY-MM-DD, whole days in UTC. */
export interface NewBadgeEvent {
  name: string
  description: string
  city: string
  country: string
  startDate: string
  endDate: string
  /** The last day on which badges can be claimed. */
  expiryDate: string
  /** Empty: none. */
  eventUrl: string
  virtualEvent: boolean
  privateEvent: boolean
  requestedCodes: number
}

/** An image that `ImageJudge` found good. */
export interface BadgeImage {
  type: 'image/png' | 'image/gif'
  extension: 'png' | 'gif'
  /** In bytes, exactly. */
  size: number
  /** All of it, from its first byte. */
  bytes(): AsyncIterable<Uint8Array>
}

/** What creating an event is answered with, as it stands on the wire. Its dates are MM-DD-YYYY. */
export interface CreationResponse {
  id: number
  fancy_id: string
  name: string
  description: string
  city: string
  country: string
  event_url: string
  image_url: string
  animation_url: string
  year: number
  start_date: string
  end_date: string
  expiry_date: string
  from_admin: boolean
  virtual_event: boolean
  event_template_id: number
  private_event: boolean
}

/** An event that the provider has. */
export interface UpstreamEvent {
  upstreamId: number
  /** The one it was created with. */
  secretCode: string
  requestedCodes: number
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** The provider understood, and said no; asking again says no again. Its message can be shown to anyone. */
export interface Refused {
  kind: 'refused'
  /** The HTTP status that it came with, 400 to 499. */
  status: number
  message: string
}

/** Nothing happened. Ask again later. `reason` is for a log: it names no code, key or token. */
export interface Unavailable {
  kind: 'unavailable'
  retryAfterMs: number
  reason: string
}

/** It was sent, and no answer came that can be read: it may have happened, or may yet. */
export interface Unknown {
  kind: 'unknown'
  retryAfterMs: number
  reason: string
}

export type CreateResult =
  | { kind: 'created'; upstreamId: number; approval: 'pending' | 'approved'; response: CreationResponse }
  | Refused
  | Unavailable
  | Unknown

export interface BadgeCode {
  code: string
  claimed: boolean
}

export type ApprovalResult =
  | { kind: 'pending' }
  /** All codes that there are, with what became of them. There can be fewer than were asked for. */
  | { kind: 'approved'; codes: BadgeCode[] }
  | { kind: 'rejected' }
  | Refused
  | Unavailable

/** All codes of an event, as the provider lists them now. */
export type CodesResult = { kind: 'codes'; codes: BadgeCode[] } | Refused | Unavailable

export type TransactionState =
  /** None yet; for a badge kept for an e-mail address, and at a provider without a chain, none at all. */
  | { kind: 'none' }
  | { kind: 'pending'; hash?: string }
  | { kind: 'mined'; hash?: string }
  /** The code is used up all the same. */
  | { kind: 'failed'; hash?: string }

/** A code that someone has used. */
export interface ClaimedCode {
  kind: 'claimed'
  /** What the collector gave: an address, an ENS name or an e-mail address. Absent where the provider keeps it to itself. */
  input?: string
  /** Who has it: the address that an ENS name led to, or an e-mail address. */
  beneficiary?: string
  transaction: TransactionState
}

export type LookUpResult =
  | ClaimedCode
  | { kind: 'unclaimed' }
  /** The provider knows no such code. */
  | { kind: 'no-such-code' }
  | Unavailable

export type ClaimResult =
  /** Accepted. The transaction follows; none does for an e-mail address. */
  | { kind: 'claimed' }
  /** By someone, at some time: `lookUp` tells whether by this recipient. */
  | { kind: 'already-claimed' }
  /** The recipient has this event's badge. The code is not used up. */
  | { kind: 'already-minted-by-recipient'; message: string }
  /** The provider knows no such code: so it says itself, and not something in between. */
  | { kind: 'no-such-code' }
  /** It cannot be claimed now, by anyone. Nothing was sent. */
  | { kind: 'inactive'; message: string }
  /** The code is not used up. */
  | Refused
  | Unavailable
  /** Look the code up before claiming it again, and claim it for the same recipient: another's would be lost. */
  | Unknown

/** Where badge events live. Calls never throw for what a provider does or fails to do. */
export interface BadgeProvider {
  readonly name: 'embedded' | 'poap'
  /** @param secretCode six digits, needed for all that follows: keep it, and keep it safe */
  create(event: NewBadgeEvent, image: BadgeImage, secretCode: string): Promise<CreateResult>
  /** Whether the event was approved, and the codes it got. A `rejected` one can still be approved later. */
  approval(event: UpstreamEvent): Promise<ApprovalResult>
  codes(event: Pick<UpstreamEvent, 'upstreamId' | 'secretCode'>): Promise<CodesResult>
  lookUp(code: string): Promise<LookUpResult>
  /**
   * @param recipient an address, an ENS name or an e-mail address
   * @param sending is awaited right before what cannot be taken back; what it throws is thrown, and nothing is sent
   */
  claim(code: string, recipient: string, sending?: () => Promise<void>): Promise<ClaimResult>
  /** What became of the transaction of a claimed code. */
  transaction(code: string): Promise<TransactionState | Unavailable>
}

/** Whether a code was claimed for this recipient: how a claim that went unanswered is told from another's. */
export function isClaimOf(claim: ClaimedCode, recipient: string): boolean {
  const wanted = recipient.trim().toLowerCase()
  return [claim.input, claim.beneficiary].some((name) => name?.trim().toLowerCase() === wanted)
}

const kindOf = (name: string) =>
  name.includes('@') ? 'e-mail' : /^0x[0-9a-f]{40}$/i.test(name.trim()) ? 'address' : 'name'

/** What is empty, masked or the zero address says nothing. */
const isSaid = (name: string | undefined): name is string =>
  name !== undefined && name.trim() !== '' && !/[*…]|^0x0{40}$/.test(name.trim())

/**
 * Who has a code, as far as the provider says. An address says nothing of an ENS name, nor of an e-mail address whose
 * badge was collected since.
 */
export function ownerOf(claim: ClaimedCode, recipient: string): 'recipient' | 'other' | 'unsaid' {
  if (isClaimOf(claim, recipient)) return 'recipient'
  const { input, beneficiary } = claim
  const wanted = kindOf(recipient)
  const couldBe = (name: string) => wanted === 'name' && kindOf(name) === 'address'
  if (isSaid(input) && !couldBe(input)) return 'other'
  return isSaid(beneficiary) && kindOf(beneficiary) === wanted ? 'other' : 'unsaid'
}

/**
 * The six digits with which an event's codes are asked for: all that stands between a stranger who knows the
 * event's id and its codes. From the system's random generator.
 */
export const newSecretCode = (): string => randomInt(1_000_000).toString().padStart(6, '0')

export const isSecretCode = (text: string): boolean => /^[0-9]{6}$/.test(text)
