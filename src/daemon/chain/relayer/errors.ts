import type { TransactionRow } from '../../store/schema/schema.ts'

/** The RPC URL leads to another chain. Nothing is signed for it. */
export class WrongChain extends Error {
  override readonly name = 'WrongChain'
  constructor(
    readonly expected: number,
    readonly actual: number,
  ) {
    super(
      `The RPC URL of chain ${expected} answers for chain ${actual}. Set the right URL (TAPCHIP_RPC_${expected}); nothing was sent.`,
    )
  }
}

export class LeaseHeld extends Error {
  override readonly name = 'LeaseHeld'
  constructor(chainId: number, address: string) {
    super(
      `Another process sends transactions from ${address} on chain ${chainId}. Stop it first, or give this one another key.`,
    )
  }
}

/** Pending transactions were signed by a former key, so this one cannot replace them. */
export class KeyChanged extends Error {
  override readonly name = 'KeyChanged'
  constructor(chainId: number, before: string, now: string) {
    super(
      `Transactions from ${before} are under way on chain ${chainId}, and the key is ${now} now. Start with the old key until they are confirmed (tapchip transactions list), then change it.`,
    )
  }
}

/** These may be shown to a stranger with a code. */
const waits: Record<NonNullable<TransactionRow['waiting']> | 'turn', string> = {
  turn: 'for its turn',
  gas: 'for a higher gas limit',
  block: 'to be mined',
  fees: 'for gas to become cheaper',
  funds: 'for funds to pay its gas',
  signer: 'to be signed',
  node: 'for the chain to answer',
  'gas-estimate': 'for earlier transactions',
  builder: 'until the chain can be read',
}

export const whyItWaits = (waiting: TransactionRow['waiting']): string => `waits ${waits[waiting ?? 'turn']}`

/** The transaction is recorded and will be sent, but has no hash yet. */
export class NotSignedYet extends Error {
  override readonly name = 'NotSignedYet'
  constructor(
    readonly transactionId: number,
    readonly waiting: TransactionRow['waiting'],
  ) {
    super(
      `Transaction ${transactionId} is recorded and ${whyItWaits(waiting)}. It is not lost and will be sent.`,
    )
  }
}

export class TransactionRefused extends Error {
  override readonly name = 'TransactionRefused'
  constructor(
    readonly transactionId: number,
    readonly reason: string,
  ) {
    super(`Transaction ${transactionId} was not sent: ${reason}`)
  }
}

/** Thrown by a builder to give the intent up. Its other errors are retried. */
export class CannotBuild extends Error {
  override readonly name = 'CannotBuild'
}

/** A contract's answer is useless. It may be the node's fault, so the intent is given up only after a few tries. */
export class ContractUnreadable extends CannotBuild {}

export class IdempotencyConflict extends Error {
  override readonly name = 'IdempotencyConflict'
  constructor() {
    super('This Idempotency-Key was used with another request. Use a new key for a new request.')
  }
}

/** Thrown in the write that records an intent, so that it is rolled back: another request has the key. */
export class IdempotencyKeyTaken extends Error {
  override readonly name = 'IdempotencyKeyTaken'
}
