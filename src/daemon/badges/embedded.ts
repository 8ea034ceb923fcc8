import { creationResponse } from './creation-response.ts'
import type {
  ApprovalResult,
  BadgeProvider,
  ClaimResult,
  CodesResult,
  CreateResult,
  LookUpResult,
  NewBadgeEvent,
  TransactionState,
} from './provider.ts'

export interface EmbeddedDeps {
  /** The lowest id that no event has yet. */
  nextId(): Promise<number>
  approval: 'auto' | 'manual'
}

/**
 * Badge events with no account anywhere. What happened stands in the daemon's own store: this says yes, and gives
 * ids. An event's codes are a number; where operators decide, they do so in the store as well.
 */
export class EmbeddedProvider implements BadgeProvider {
  readonly name = 'embedded'
  readonly #deps: EmbeddedDeps
  /** Ids of events that are on their way into the store count as taken. */
  #last = 0

  constructor(deps: EmbeddedDeps) {
    this.#deps = deps
  }

  /** Its image's address holds the service's own id, which is not known yet: `image_url` is empty. */
  async create(event: NewBadgeEvent): Promise<CreateResult> {
    const upstreamId = Math.max(await this.#deps.nextId(), this.#last + 1)
    this.#last = upstreamId
    const approval = this.#deps.approval === 'auto' ? 'approved' : 'pending'
    const response = creationResponse(event, { id: upstreamId, imageUrl: '' })
    return { kind: 'created', upstreamId, approval, response }
  }

  async approval(): Promise<ApprovalResult> {
    return { kind: 'pending' }
  }

  async codes(): Promise<CodesResult> {
    return { kind: 'codes', codes: [] }
  }

  /** A claim that the store did not see end has not happened. */
  async lookUp(): Promise<LookUpResult> {
    return { kind: 'unclaimed' }
  }

  async claim(): Promise<ClaimResult> {
    return { kind: 'claimed' }
  }

  async transaction(): Promise<TransactionState> {
    return { kind: 'none' }
  }
}
