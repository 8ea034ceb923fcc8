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

interface EmbeddedDeps {
  nextId(): Promise<number>
  approval: 'auto' | 'manual'
}

/**
 * Badge events without an account anywhere. All state is in the daemon's own store: this class approves and
 * issues ids. An event has a number of codes instead of a list; manual approval also happens in the store.
 */
export class EmbeddedProvider implements BadgeProvider {
  readonly name = 'embedded'
  readonly #deps: EmbeddedDeps
  /** Ids of events that are not in the store yet count as used. */
  #last = 0

  constructor(deps: EmbeddedDeps) {
    this.#deps = deps
  }

  /** `image_url` stays empty: it contains the service's own id, which is not known yet. */
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

  /** A claim that did not complete in the store did not happen. */
  async lookUp(): Promise<LookUpResult> {
    return { kind: 'unclaimed' }
  }

  async claim(): Promise<ClaimResult> {
    return { kind: 'claimed' }
  }

  async transaction(): Promise<TransactionState> {
    return { kind: 'none' }
  }

  async trouble(): Promise<undefined> {
    return undefined
  }
}
