import { type Address, type Hex, isHex, keccak256, recoverAddress, serializeTransaction } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import * as z from 'zod'
import { OutboundFailed } from '../../outbound/errors.ts'
import { type HttpPool, openHttpPool, type PoolRequest } from '../../outbound/http-pool.ts'
import { SignerProblem, type UnsignedTransaction } from './transaction-signer.ts'

/** KMS take some hundred milliseconds. */
const timeoutMs = 5000
/** Room for the keys of a thousand chains. */
const maxBytes = 256 * 1024
/** Relayers that share a signer share its list of keys for this long. */
const listedForMs = 4000
/** Half the curve's order. Chains refuse signatures with a higher `s` (EIP-2). */
const maxS = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** Web3signer writes 128 digits; others add the prefix of uncompressed points. */
const publicKey = z
  .string()
  .regex(/^(0x)?(04)?[0-9a-fA-F]{128}$/)
  .transform((text): Hex => `0x${text.slice(-128).toLowerCase()}`)
const publicKeys = z.array(publicKey)

export const addressOf = (key: string): Address => publicKeyToAddress(`0x04${key.slice(-128)}`)

/** Web3signer's `eth1` interface over HTTP: openapi-specs/eth1/web3signer.yaml in Consensys/web3signer. */
export class Web3signer {
  /** Host and port. */
  readonly host: string
  readonly #pool: HttpPool
  #isClosed = false
  #listed: { at: number; keys: Promise<readonly Hex[]> } | undefined

  constructor(url: string) {
    const { hostname, port, protocol } = new URL(url)
    this.host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
    this.#pool = openHttpPool(url)
  }

  /** @throws SignerProblem */
  publicKeys(): Promise<readonly Hex[]> {
    const now = performance.now()
    if (this.#listed === undefined || now - this.#listed.at >= listedForMs) {
      const keys = this.#listKeys()
      this.#listed = { at: now, keys }
      keys.catch(() => {
        this.#listed = undefined
      })
    }
    return this.#listed.keys
  }

  async #listKeys(): Promise<readonly Hex[]> {
    const text = await this.#ask({ method: 'GET', path: '/api/v1/eth1/publicKeys' }, 'has no list of keys')
    const keys = publicKeys.safeParse(parsed(text))
    if (!keys.success) throw this.#problem('lists no Ethereum keys: start web3signer as eth1')
    return keys.data
  }

  /** @throws SignerProblem */
  async assertHas(key: string): Promise<void> {
    if (!(await this.publicKeys()).some((one) => one === key)) throw this.#problem(lacks(key))
  }

  /** @param key as listed @throws SignerProblem, also if the signature is not this key's for this transaction */
  async sign(key: string, transaction: UnsignedTransaction): Promise<Hex> {
    const data = serializeTransaction(transaction)
    const body = JSON.stringify({ data })
    const text = await this.#ask({ method: 'POST', path: `/api/v1/eth1/sign/${key}`, body }, lacks(key))
    const signature = signatureIn(text)
    if (signature === undefined) throw this.#problem('answers without a signature')
    // It hashes by itself, so this also shows what it signed.
    const signer = await recoverAddress({ hash: keccak256(data), signature }).catch(() => undefined)
    if (signer !== addressOf(key))
      throw this.#problem(`signed something else, or not with the key of ${addressOf(key)}`)
    return serializeTransaction(transaction, signature)
  }

  /** Breaks off what it has not answered, so that a stop does not wait for it. */
  close(): void {
    this.#isClosed = true
    this.#pool.close()
  }

  /** @param notFound what HTTP 404 means */
  async #ask(request: Pick<PoolRequest, 'method' | 'path' | 'body'>, notFound: string): Promise<string> {
    if (this.#isClosed) throw this.#problem('is not asked any more: the daemon is stopping')
    const ask = () => this.#pool.request({ ...request, timeoutMs, maxBytes })
    const { status, body } = await ask()
      // It may have just closed the connection, since it was idle.
      .catch((error: unknown) => {
        const isCut = error instanceof OutboundFailed && error.kind === 'connection' && error.sent
        if (isCut && !this.#isClosed) return ask()
        throw error
      })
      .catch((error: unknown) => {
        throw this.#problem(`does not answer: ${error instanceof Error ? error.message : String(error)}`)
      })
    if (status === 404) throw this.#problem(`${notFound} (HTTP 404)`)
    if (status !== 200) throw this.#problem(`refuses (HTTP ${status})`)
    return body.toString('utf8')
  }

  #problem(what: string): SignerProblem {
    return new SignerProblem(this.host, what)
  }
}

const lacks = (key: string): string => `does not have the key of ${addressOf(key)}`

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** r, s, and v: 27 or 28. */
function signatureIn(text: string): { r: Hex; s: Hex; yParity: number; v: bigint } | undefined {
  const hex = text.trim().toLowerCase()
  if (!isHex(hex) || hex.length !== 132) return undefined
  const r: Hex = `0x${hex.slice(2, 66)}`
  const s: Hex = `0x${hex.slice(66, 130)}`
  const yParity = Number(`0x${hex.slice(130)}`) - 27
  return (yParity === 0 || yParity === 1) && BigInt(s) <= maxS
    ? { r, s, yParity, v: BigInt(27 + yParity) }
    : undefined
}
