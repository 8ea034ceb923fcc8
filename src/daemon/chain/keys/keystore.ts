import { createDecipheriv, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { keccak256 } from 'viem'
import * as z from 'zod'
import { isJsonObject } from '../../../values/json.ts'
import { KeyProblem, SigningKey } from './signing-key.ts'

// Web3 Secret Storage, version 3: the format of geth, cast, and wallets.
// https://ethereum.org/en/developers/docs/data-structures-and-encoding/web3-secret-storage/

const hex = z.string().regex(/^([0-9a-fA-F]{2})+$/)
const common = {
  cipher: z.literal('aes-128-ctr'),
  ciphertext: hex,
  cipherparams: z.object({ iv: hex }),
  mac: hex,
}
const dklen = z.literal(32)
const keystore = z.object({
  version: z.literal(3),
  // Wallets format the address differently or omit it; it is derived from the key instead.
  address: z.string().optional(),
  id: z.string().optional(),
  crypto: z.discriminatedUnion('kdf', [
    z.object({
      ...common,
      kdf: z.literal('scrypt'),
      kdfparams: z.object({
        dklen,
        n: z.number().int().min(2),
        r: z.number().int().min(1),
        p: z.number().int().min(1).max(64),
        salt: hex,
      }),
    }),
    z.object({
      ...common,
      kdf: z.literal('pbkdf2'),
      kdfparams: z.object({
        dklen,
        c: z.number().int().min(1),
        prf: z.literal('hmac-sha256'),
        salt: hex,
      }),
    }),
  ]),
})
type Keystore = z.infer<typeof keystore>

const byScrypt = promisify<string, Buffer, number, object, Buffer>(scrypt)
const byPbkdf2 = promisify(pbkdf2)

/** Four times geth's default. A file that asks for more is malicious. */
const maxMemory = 1024 * 1024 * 1024
/** Forty times geth's default: some seconds. */
const maxIterations = 10_000_000

function keyFrom(text: string, crypto: Keystore['crypto']): Promise<Buffer> {
  const password = text.normalize('NFKC')
  const salt = Buffer.from(crypto.kdfparams.salt, 'hex')
  if (crypto.kdf === 'scrypt') return scryptKey(password, salt, crypto.kdfparams)
  const { c, dklen } = crypto.kdfparams
  if (c > maxIterations)
    throw new KeyProblem(`The keystore asks for ${c} iterations of PBKDF2; the maximum is ${maxIterations}.`)
  return byPbkdf2(password, salt, c, dklen, 'sha256')
}

async function scryptKey(
  password: string,
  salt: Buffer,
  { n: N, r, p, dklen }: { n: number; r: number; p: number; dklen: number },
): Promise<Buffer> {
  const maxmem = 128 * N * r + 128 * r * p + 1024 * 1024
  if (maxmem > maxMemory)
    throw new KeyProblem('The keystore asks for more than 1 GiB of memory to be opened.')
  try {
    return await byScrypt(password, salt, dklen, { N, r, p, maxmem })
  } catch {
    // RFC 7914: N is a power of two below 2^(16 r). The definition's own vector violates this, but geth's files
    // do not.
    throw new KeyProblem(
      `The keystore has scrypt parameters that do not work together (n ${N}, r ${r}, p ${p}).`,
    )
  }
}

const macOf = (derived: Buffer, ciphertext: Buffer): Buffer =>
  Buffer.from(keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext]), 'bytes'))

/**
 * @param from the source, for messages
 * @throws KeyProblem if it is not a keystore of version 3 with scrypt or PBKDF2, or the password is wrong
 */
export async function openKeystore(json: string, password: string, from: string): Promise<SigningKey> {
  const { crypto } = parse(json, from)
  const derived = await keyFrom(password, crypto)
  const ciphertext = Buffer.from(crypto.ciphertext, 'hex')
  const mac = Buffer.from(crypto.mac, 'hex')
  const expected = macOf(derived, ciphertext)
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected))
    throw new KeyProblem(`${from} cannot be opened: the password is wrong, or the file is damaged.`)
  const iv = Buffer.from(crypto.cipherparams.iv, 'hex')
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), iv)
  const secret = Buffer.concat([decipher.update(ciphertext), decipher.final()])
  // Early versions of geth omitted leading zeros.
  return SigningKey.of(Buffer.concat([Buffer.alloc(Math.max(0, 32 - secret.length)), secret]), from)
}

function parse(json: string, from: string): Keystore {
  let value: unknown
  try {
    // ethers writes `Crypto`, and geth reads names in any case.
    value = JSON.parse(json, (_, inner) => lowerNames(inner))
  } catch {
    throw new KeyProblem(`${from} is not JSON.`)
  }
  const parsed = keystore.safeParse(value)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.')
  throw new KeyProblem(
    `${from} is not a version 3 keystore with aes-128-ctr, and scrypt or pbkdf2 with hmac-sha256 (${path} is not valid).`,
  )
}

const lowerNames = (value: unknown): unknown =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toLowerCase(), inner]))
    : value
