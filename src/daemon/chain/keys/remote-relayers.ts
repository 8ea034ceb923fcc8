import type { Logger } from 'pino'
import type { Address, Hex } from 'viem'
import {
  insertSignerKey,
  moveSignerKey,
  type SignerKey,
  signerKeysOf,
} from '../../store/chain/signer-keys.ts'
import type { Db } from '../../store/database/database.ts'
import type { RemoteRelayers } from './chain-keys.ts'
import {
  type RemoteHealth,
  relayerName,
  SignerProblem,
  type TransactionSigner,
  type UnsignedTransaction,
} from './transaction-signer.ts'
import { addressOf, type Web3signer } from './web3signer.ts'

/** A relayer whose key is in a remote signer. */
class RemoteRelayer implements TransactionSigner, RemoteHealth {
  readonly address: Address
  readonly #signer: Web3signer
  readonly #key: string
  #problem: SignerProblem | undefined

  constructor(signer: Web3signer, key: string) {
    this.address = addressOf(key)
    this.#signer = signer
    this.#key = key
  }

  get remote(): RemoteHealth {
    return this
  }

  get host(): string {
    return this.#signer.host
  }

  get problem(): SignerProblem | undefined {
    return this.#problem
  }

  signTransaction(transaction: UnsignedTransaction): Promise<Hex> {
    return this.#noting(this.#signer.sign(this.#key, transaction))
  }

  async check(): Promise<SignerProblem | undefined> {
    await this.#noting(this.#signer.assertHas(this.#key)).catch(() => undefined)
    return this.#problem
  }

  async #noting<T>(answer: Promise<T>): Promise<T> {
    try {
      const value = await answer
      this.#problem = undefined
      return value
    } catch (error) {
      this.#problem = error instanceof SignerProblem ? error : this.#problem
      throw error
    }
  }
}

interface Deps {
  db: Db
  log: Pick<Logger, 'warn'>
}

/**
 * The relayers of a chain whose keys a remote signer has. Which key belongs to which relayer is decided once, by the
 * signer's order at that time, and kept in the database: web3signer lists its keys in another order after each start.
 * A key changes only when a signer at another address does not have it.
 * @throws SignerProblem if no key is known yet, and the signer lists none
 */
export async function remoteRelayers(
  { db, log }: Deps,
  { chainId, count, mayTake, signer }: RemoteRelayers & { signer: Web3signer },
): Promise<[TransactionSigner, ...TransactionSigner[]]> {
  const kept = await assigned({ db, chainId, signer, count, mayTake }).catch((error: unknown) => {
    if (!(error instanceof SignerProblem)) throw error
    return error
  })
  const isDown = kept instanceof SignerProblem
  const [first, ...further] = inOrder(isDown ? await signerKeysOf(db.read, { chainId }) : kept, count)
  if (first === undefined)
    throw isDown
      ? kept
      : new SignerProblem(
          signer.host,
          `has no key for the relayers of chain ${chainId} (the sign verifier's and public ones are not used)`,
        )
  if (further.length + 1 < count)
    log.warn(
      { chainId, relayers: further.length + 1 },
      `The signer at ${signer.host} has too few keys for ${count} relayers. Add keys, and start the daemon again.`,
    )
  return [new RemoteRelayer(signer, first), ...further.map((key) => new RemoteRelayer(signer, key))]
}

/** @returns public keys */
const inOrder = (keys: readonly SignerKey[], count: number): string[] =>
  Array.from({ length: count }, (_, position) => relayerName(position)).flatMap(
    (name) => keys.find((key) => key.name === name)?.publicKey ?? [],
  )

/** Asks the signer only if a key is missing, or may have to change. @throws SignerProblem */
async function assigned({
  db,
  chainId,
  signer,
  count,
  mayTake,
}: RemoteRelayers & { db: Db; signer: Web3signer }): Promise<SignerKey[]> {
  const { host } = signer
  const known = await signerKeysOf(db.read, { chainId })
  if (inOrder(known, count).length === count && known.every((key) => key.host === host)) return known
  const listed: readonly string[] = await signer.publicKeys()
  return db.write(async (trx) => {
    const kept = await signerKeysOf(trx, { chainId })
    const mayStay = ({ publicKey, host: at }: SignerKey) => at === host || listed.includes(publicKey)
    const free = [...new Set(listed)].filter(
      (key) => mayTake(addressOf(key)) && !kept.some(({ publicKey }) => publicKey === key),
    )
    for (const key of kept) {
      const publicKey = mayStay(key) ? key.publicKey : free.shift()
      if (key.host !== host && publicKey !== undefined)
        await moveSignerKey(trx, { ...key, publicKey, host }, key.host)
    }
    for (let position = kept.length; position < count; position++) {
      const publicKey = free.shift()
      if (publicKey !== undefined)
        await insertSignerKey(trx, { chainId, name: relayerName(position), publicKey, host })
    }
    return signerKeysOf(trx, { chainId })
  })
}
