import { createCipheriv, randomBytes, randomUUID, scryptSync } from 'node:crypto'
import { keccak256 } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

/** A keystore as geth writes it. @param cost scrypt's N */
export function makeKeystore(secret: Buffer, password: string, cost: number) {
  const salt = randomBytes(32)
  const iv = randomBytes(16)
  const derived = scryptSync(password.normalize('NFKC'), salt, 32, { N: cost, r: 8, p: 1 })
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv)
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
  const mac = keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2)
  return {
    version: 3,
    id: randomUUID(),
    address: privateKeyToAddress(`0x${secret.toString('hex')}`)
      .slice(2)
      .toLowerCase(),
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: iv.toString('hex') },
      ciphertext: ciphertext.toString('hex'),
      kdf: 'scrypt',
      kdfparams: { dklen: 32, n: cost, r: 8, p: 1, salt: salt.toString('hex') },
      mac,
    },
  }
}
