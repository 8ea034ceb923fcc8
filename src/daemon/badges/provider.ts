import { randomInt } from 'node:crypto'

/** A badge event as given by its team. Days are YYYY-MM-DD, full days in UTC. */
export interface NewBadgeEvent {
  name: string
  description: string
  city: string
  country: string
  startDate: string
  endDate: string
  expiryDate: string
  /** Empty: none. */
  eventUrl: string
  virtualEvent: boolean
  privateEvent: boolean
  requestedCodes: number
  /** Badges that one recipient may have. */
  maxPerRecipient: number
}

/** An image that `ImageJudge` accepted. */
export interface BadgeImage {
  type: 'image/png' | 'image/gif'
  extension: 'png' | 'gif'
  size: number
  bytes(): AsyncIterable<Uint8Array>
}

/** The answer to creating an event, as sent on the wire. Its dates are MM-DD-YYYY. */
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

export interface UpstreamEvent {
  upstreamId: number
  secretCode: string
  requestedCodes: number
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** The provider refused the request, and would refuse it again. The message can be shown to anyone. */
export interface RefusedClaim {
  kind: 'refused'
  /** The HTTP status, 400 to 499. */
  status: number
  message: string
}

/** Nothing happened; ask again later. `reason` is for a log and contains no code, key, or token. */
export interface Unavailable {
  kind: 'unavailable'
  retryAfterMs: number
  reason: string
}

/** The request was sent, but there was no readable answer: it may have taken effect, or may yet. */
export interface UnknownOutcome {
  kind: 'unknown'
  retryAfterMs: number
  reason: string
}

export type CreateResult =
  | { kind: 'created'; upstreamId: number; approval: 'pending' | 'approved'; response: CreationResponse }
  | RefusedClaim
  | Unavailable
  | UnknownOutcome

export interface BadgeCode {
  code: string
  claimed: boolean
}

export type ApprovalResult =
  | { kind: 'pending' }
  /** All codes and their states; possibly fewer than requested. */
  | { kind: 'approved'; codes: BadgeCode[] }
  | { kind: 'rejected' }
  | RefusedClaim
  | Unavailable

export type CodesResult = { kind: 'codes'; codes: BadgeCode[] } | RefusedClaim | Unavailable

export type TransactionState =
  /** Undefined: none yet; never set for a badge held for an e-mail address, or at a provider without a chain. */
  | { kind: 'none' }
  | { kind: 'pending'; hash?: string }
  | { kind: 'mined'; hash?: string }
  /** The code is used up all the same. */
  | { kind: 'failed'; hash?: string }

interface ClaimedCode {
  kind: 'claimed'
  /** The collector's address, ENS name, or e-mail address. Absent if the provider does not reveal it. */
  input?: string
  /** The holder: the address behind an ENS name, or an e-mail address. */
  beneficiary?: string
  transaction: TransactionState
}

export type LookUpResult = ClaimedCode | { kind: 'unclaimed' } | { kind: 'no-such-code' } | Unavailable

export type ClaimResult =
  /** Accepted. The transaction follows; there is none for an e-mail address. */
  | { kind: 'claimed' }
  /** By anyone, at any time: `lookUp` says if it was this recipient. */
  | { kind: 'already-claimed' }
  /** The recipient already has this event's badge. The code is not used up. */
  | { kind: 'already-minted-by-recipient'; message: string }
  /** Confirmed by the provider itself, not by a gateway. */
  | { kind: 'no-such-code' }
  | { kind: 'inactive'; message: string }
  /** The code is not used up. */
  | RefusedClaim
  | Unavailable
  /**
   * Look the code up before claiming it again, and claim it for the same recipient, or someone else's badge
   * would be lost.
   */
  | UnknownOutcome

/** The port to where badge events live. Calls never throw because of what a provider does. */
export interface BadgeProvider {
  readonly name: 'embedded' | 'poap'
  /** @param secretCode six digits, needed for all later calls; store it safely */
  create(event: NewBadgeEvent, image: BadgeImage, secretCode: string): Promise<CreateResult>
  /** Returns the approval and the codes. A `rejected` event can still be approved later. */
  approval(event: UpstreamEvent): Promise<ApprovalResult>
  codes(event: Pick<UpstreamEvent, 'upstreamId' | 'secretCode'>): Promise<CodesResult>
  lookUp(code: string): Promise<LookUpResult>
  /**
   * @param recipient an address, an ENS name, or an e-mail address
   * @param sending awaited right before the irreversible step; if it throws, nothing is sent
   */
  claim(code: string, recipient: string, sending?: () => Promise<void>): Promise<ClaimResult>
  transaction(code: string): Promise<TransactionState | Unavailable>
  /** Why the provider cannot be used now, for an operator. Undefined: it answers and accepts our account. */
  trouble(): Promise<string | undefined>
}

export function isClaimOf(claim: ClaimedCode, recipient: string): boolean {
  const normalized = recipient.trim().toLowerCase()
  return [claim.input, claim.beneficiary].some((name) => name?.trim().toLowerCase() === normalized)
}

const kindOf = (name: string) =>
  name.includes('@') ? 'e-mail' : /^0x[0-9a-f]{40}$/i.test(name.trim()) ? 'address' : 'name'

/** Empty or masked names and the zero address carry no information. */
const isGiven = (name: string | undefined): name is string =>
  name !== undefined && name.trim() !== '' && !/[*…]|^0x0{40}$/.test(name.trim())

/**
 * Compares a code's holder, as far as the provider reveals it. An address cannot be compared with an ENS name,
 * or with an e-mail address whose badge was collected since.
 */
export function ownerOf(claim: ClaimedCode, recipient: string): 'recipient' | 'other' | 'unsaid' {
  if (isClaimOf(claim, recipient)) return 'recipient'
  const { input, beneficiary } = claim
  const kind = kindOf(recipient)
  const couldBe = (name: string) => kind === 'name' && kindOf(name) === 'address'
  if (isGiven(input) && !couldBe(input)) return 'other'
  return isGiven(beneficiary) && kindOf(beneficiary) === kind ? 'other' : 'unsaid'
}

/** Six random digits that protect an event's codes from a stranger who knows its id. */
export const newSecretCode = (): string => randomInt(1_000_000).toString().padStart(6, '0')
