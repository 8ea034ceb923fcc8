import { randomBytes } from 'node:crypto'

export interface LedgerEvent {
  id: number
  fields: Record<string, string>
  image: { type: string; size: number }
  /** YYYY-MM-DD */
  days: { start: string; end: string; expiry: string }
  secretCode: string
  requestedCodes: number
  /** Whether people still have to decide on its request for codes. */
  isOpen: boolean
  codes: LedgerCode[]
  createdDate: string
}

export interface LedgerCode {
  id: number
  qrHash: string
  secret: string
  event: LedgerEvent
  /** POAP can switch a code off. */
  isActive: boolean
  claim?: { input: string; beneficiary: string; at: string; sendEmail: boolean }
  /** The last one counts; an e-mail claim has none. */
  transactions: { tx_hash: string; status: 'waiting_tx' | 'pending' | 'passed' | 'failed' | 'bumped' }[]
  token?: number
}

/** What POAP knows: events, codes, claims. Its rules, by the words of its errors. */
export class Ledger {
  readonly events = new Map<number, LedgerEvent>()
  /** The name service that POAP asks. */
  readonly names = new Map<string, string>([['poap.eth', '0x8f282529AaB18D3B2Ce68d55b2a1bC2A0B3e9b47']])
  readonly #now: () => number
  #ids = 190_000

  constructor(now: () => number) {
    this.#now = now
  }

  nextId = () => ++this.#ids

  add(event: Omit<LedgerEvent, 'id' | 'isOpen' | 'codes' | 'createdDate'>): LedgerEvent {
    const createdDate = new Date(this.#now()).toISOString()
    const added = { ...event, id: this.nextId(), isOpen: event.requestedCodes > 0, codes: [], createdDate }
    this.events.set(added.id, added)
    return added
  }

  /** @param count how many codes there are afterwards */
  giveCodes(event: LedgerEvent, count: number): void {
    while (event.codes.length < count) {
      const qrHash = randomBytes(8)
        .toString('base64url')
        .replace(/[-_]/g, '')
        .toLowerCase()
        .slice(0, 6)
        .padEnd(6, '0')
      if (this.code(qrHash)) continue
      const secret = randomBytes(32).toString('hex')
      event.codes.push({ id: this.nextId(), qrHash, secret, event, isActive: true, transactions: [] })
    }
  }

  code(qrHash: string): LedgerCode | undefined {
    for (const event of this.events.values()) {
      const code = event.codes.find((one) => one.qrHash === qrHash)
      if (code) return code
    }
    return undefined
  }

  hasSecretCode(event: LedgerEvent, given: unknown): boolean {
    return given === event.secretCode
  }

  isExpired(event: LedgerEvent): boolean {
    return new Date(this.#now()).toISOString().slice(0, 10) > event.days.expiry
  }

  /** @returns what is wrong, in POAP's words; undefined when it is claimed now */
  claim(code: LedgerCode, input: string, sendEmail: boolean): string | undefined {
    if (code.claim) return 'QR Claim already claimed'
    if (!code.isActive) return 'QR Claim is not active'
    if (this.isExpired(code.event)) return 'QR Claim expired'
    const beneficiary = this.resolve(input)
    if (beneficiary === undefined) return 'Address is not valid'
    const same = (other: LedgerCode) => other.claim?.beneficiary.toLowerCase() === beneficiary.toLowerCase()
    if (code.event.codes.some(same)) return 'You already minted a POAP for this drop.'
    code.claim = { input, beneficiary, at: new Date(this.#now()).toISOString(), sendEmail }
    if (!input.includes('@')) code.transactions = [{ tx_hash: '', status: 'waiting_tx' }]
    return undefined
  }

  resolve(input: string): string | undefined {
    if (/^0x[0-9a-fA-F]{40}$/.test(input) || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(input)) return input
    return this.names.get(input.toLowerCase())
  }
}
