import { createDecipheriv, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { keccak256 } from 'viem'
import * as z from 'zod'
import { KeyProblem, SigningKey } from './signing-key.ts'

// Web3 Secret Storage, version 3: the format of geth, cast, and wallets.
// https://ethereum.org/en/developers/docs/data-structures-and-encoding/web3-secret-storage/

const hex = z.string().regex(/^([0-9a-fA-F]{2})+$/)
const keystore = z.object({
  version: z.literal(3),
  // Wallets format the address differently or omit it; it is derived from the key instead.
  address: z.string().optional(),
  id: z.string().optional(),
  crypto: z.object({
    cipher: z.literal('aes-128-ctr'),
    ciphertext: hex,
    cipherparams: z.object({ iv: hex }),
    kdf: z.literal('scrypt'),
    kdfparams: z.object({
      dklen: z.literal(32),
      n: z.number().int().min(2),
      r: z.number().int().min(1),
      p: z.number().int().min(1).max(64),
      salt: hex,
    }),
    mac: hex,
  }),
})
type Keystore = z.infer<typeof keystore>

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

/** Four times geth's default. A file that asks for more is malicious. */
const memoryLimit = 1024 * 1024 * 1024

async function keyFrom(password: string, params: Keystore['crypto']['kdfparams']): Promise<Buffer> {
  const { n: N, r, p, salt, dklen } = params
  const maxmem = 128 * N * r + 128 * r * p + 1024 * 1024
  if (maxmem > memoryLimit)
    throw new KeyProblem('The keystore asks for more than 1 GiB of memory to be opened.')
  try {
    return await derive(password.normalize('NFKC'), Buffer.from(salt, 'hex'), dklen, { N, r, p, maxmem })
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
 * @throws KeyProblem if it is not a keystore of version 3 with scrypt, or the password is wrong
 */
export async function openKeystore(json: string, password: string, from: string): Promise<SigningKey> {
  const { crypto } = parse(json, from)
  const derived = await keyFrom(password, crypto.kdfparams)
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
    value = JSON.parse(json)
  } catch {
    throw new KeyProblem(`${from} is not JSON.`)
  }
  const parsed = keystore.safeParse(value)
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.join('.')
  throw new KeyProblem(
    `${from} is not a version 3 keystore with scrypt and aes-128-ctr (${path} is not valid).`,
  )
}
