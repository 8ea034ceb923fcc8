import { PoapCalls } from './poap-calls.ts'
import type { PoapConfig, PoapDeps } from './poap-deps.ts'
import {
  activeRequests,
  anything,
  claimAnswer,
  claimLookUp,
  complaintOf,
  createdEvent,
  multipart,
  qrCodes,
  toCreationResponse,
  toOneState,
  toTransactionState,
  transactions,
} from './poap-wire.ts'
import type {
  ApprovalResult,
  BadgeImage,
  BadgeProvider,
  ClaimResult,
  CodesResult,
  CreateResult,
  LookUpResult,
  NewBadgeEvent,
  TransactionState,
  Unavailable,
  UpstreamEvent,
} from './provider.ts'

/** People review new events within a day: without open requests or codes after that, the event was rejected. */
const decisionMs = 24 * 3_600_000

/** 50,000 codes, the most that can be requested at once, with room to spare. */
const codesMaxBytes = 8 * 1024 * 1024

export class PoapProvider implements BadgeProvider {
  readonly name = 'poap'
  readonly #config: PoapConfig
  readonly #calls: PoapCalls
  readonly #clock: PoapDeps['clock']

  constructor(config: PoapConfig, deps: PoapDeps) {
    this.#config = config
    this.#calls = new PoapCalls(config, deps)
    this.#clock = deps.clock
  }

  async create(event: NewBadgeEvent, image: BadgeImage, secretCode: string): Promise<CreateResult> {
    const form = multipart(eventFields(event, this.#config.email, secretCode), image)
    const answer = await this.#calls.write({
      method: 'POST',
      path: '/events',
      auth: 'api-key',
      form,
      shape: createdEvent,
      hide: [secretCode],
    })
    if (answer.kind !== 'ok') return answer
    const response = toCreationResponse(answer.value, event)
    return { kind: 'created', upstreamId: response.id, approval: 'pending', response }
  }

  /**
   * POAP has no field for this. Approved: all codes exist, or some do and no request for codes is open.
   * Rejected: there are no codes, and none will come.
   */
  async approval(event: UpstreamEvent): Promise<ApprovalResult> {
    const { upstreamId, requestedCodes, createdAt } = event
    const listed = await this.codes(event)
    if (listed.kind === 'refused' && listed.status === 404)
      return (await this.#isGone(upstreamId)) ? { kind: 'rejected' } : { kind: 'pending' }
    if (listed.kind !== 'codes') return listed
    const { codes } = listed
    if (codes.length > 0 && codes.length >= requestedCodes) return { kind: 'approved', codes }
    const open = await this.#openRequests(upstreamId)
    if (open.kind === 'unavailable') return open
    if (open.kind === 'ok' && open.value > 0) return { kind: 'pending' }
    if (codes.length > 0) return { kind: 'approved', codes }
    const isDecided = open.kind === 'ok' && this.#clock.now() - createdAt >= decisionMs
    return { kind: isDecided ? 'rejected' : 'pending' }
  }

  async codes({
    upstreamId,
    secretCode,
  }: Pick<UpstreamEvent, 'upstreamId' | 'secretCode'>): Promise<CodesResult> {
    const listed = await this.#calls.read({
      method: 'POST',
      path: `/event/${upstreamId}/qr-codes`,
      auth: 'bearer',
      json: { secret_code: secretCode },
      shape: qrCodes,
      hide: [secretCode],
      maxBytes: codesMaxBytes,
    })
    if (listed.kind !== 'ok') return listed
    return { kind: 'codes', codes: listed.value.map(({ qr_hash, claimed }) => ({ code: qr_hash, claimed })) }
  }

  async lookUp(code: string): Promise<LookUpResult> {
    const found = await this.#find(code)
    if (found.kind === 'unavailable') return found
    if (found.kind === 'refused') {
      // POAP answers 400 for text that cannot be a code.
      if (found.status === 404 || found.status === 400) return { kind: 'no-such-code' }
      return {
        kind: 'unavailable',
        retryAfterMs: 60_000,
        reason: `POAP answered ${found.status} to a look-up`,
      }
    }
    const { claimed, user_input, beneficiary, tx_hash, tx_status } = found.value
    if (!claimed) return { kind: 'unclaimed' }
    return {
      kind: 'claimed',
      ...(user_input ? { input: user_input } : {}),
      ...(beneficiary ? { beneficiary } : {}),
      transaction: toTransactionState({ tx_hash, status: tx_status }),
    }
  }

  async claim(
    code: string,
    recipient: string,
    sending: () => Promise<void> = async () => undefined,
  ): Promise<ClaimResult> {
    const found = await this.#find(code)
    if (found.kind === 'refused' && found.status === 404) return { kind: 'no-such-code' }
    if (found.kind !== 'ok') return found
    if (found.value.claimed) return { kind: 'already-claimed' }
    const { secret, is_active } = found.value
    if (is_active === false) return { kind: 'inactive', message: 'QR Claim is not active' }
    await sending()
    const json = {
      address: recipient,
      qr_hash: code,
      ...(secret ? { secret } : {}),
      // An on-chain address cannot receive e-mail.
      sendEmail: recipient.includes('@'),
    }
    const answer = await this.#calls.write({
      method: 'POST',
      path: '/actions/claim-qr',
      auth: 'bearer',
      json,
      shape: claimAnswer,
      hide: [code, secret ?? ''],
    })
    if (answer.kind === 'ok') {
      if (answer.value.qr_hash === code) return { kind: 'claimed' }
      return { kind: 'unknown', retryAfterMs: 1_000, reason: 'POAP answered a claim with another code' }
    }
    if (answer.kind !== 'refused') return answer
    if (answer.status === 404) return { kind: 'no-such-code' }
    const complaint = complaintOf(answer.message)
    if (complaint === 'already-minted-by-recipient') return { kind: complaint, message: answer.message }
    return complaint === 'already-claimed' ? { kind: complaint } : answer
  }

  async transaction(code: string): Promise<TransactionState | Unavailable> {
    const answer = await this.#calls.read({
      method: 'GET',
      path: `/transactions?qr_hash=${encodeURIComponent(code)}`,
      // The documentation lists this endpoint as open, but POAP's own client sends the token.
      auth: 'bearer',
      shape: transactions,
      hide: [code],
    })
    if (answer.kind === 'refused') return { kind: 'none' }
    return answer.kind === 'ok' ? toOneState(answer.value.transactions) : answer
  }

  /** With a token, so that the client's secret is tried as well as the API key. */
  async trouble(): Promise<string | undefined> {
    const call = { method: 'GET', path: '/health-check', auth: 'bearer', shape: anything } as const
    const answer = await this.#calls.read(call)
    if (answer.kind === 'ok') return undefined
    return answer.kind === 'refused' ? `POAP answered ${answer.status}: ${answer.message}` : answer.reason
  }

  #find(code: string) {
    return this.#calls.read({
      method: 'GET',
      path: `/actions/claim-qr?qr_hash=${encodeURIComponent(code)}`,
      auth: 'bearer',
      shape: claimLookUp,
      hide: [code],
    })
  }

  #openRequests(upstreamId: number) {
    return this.#calls.read({
      method: 'GET',
      path: `/redeem-requests/active/count?event_id=${upstreamId}&redeem_type=qr_code`,
      auth: 'api-key',
      shape: activeRequests,
    })
  }

  async #isGone(upstreamId: number): Promise<boolean> {
    const path = `/events/id/${upstreamId}`
    const answer = await this.#calls.read({ method: 'GET', path, auth: 'api-key', shape: anything })
    return answer.kind === 'refused' && answer.status === 404
  }
}

function eventFields(event: NewBadgeEvent, email: string, secretCode: string): Record<string, string> {
  return {
    name: event.name,
    description: event.description,
    city: event.city,
    country: event.country,
    start_date: event.startDate,
    end_date: event.endDate,
    expiry_date: event.expiryDate,
    virtual_event: String(event.virtualEvent),
    private_event: String(event.privateEvent),
    requested_codes: String(event.requestedCodes),
    ...(event.eventUrl === '' ? {} : { event_url: event.eventUrl }),
    email,
    secret_code: secretCode,
  }
}
